import type { Request } from "./request";
import { parse } from "./parse";
export * from "./request";

/** What a handler may answer. */
export type Answer = string | { status: number; body: string };

export interface Handler<T = unknown> {
  /** Called once for each request. */
  (request: Request, state: T): Answer;
  readonly title?: string;
}

export enum Method {
  Get = "GET",
  Post = "POST",
}

export function route(path: string): Handler;
export function route(path: RegExp): Handler;
export function route(path: string | RegExp): Handler {
  return () => String(path);
}

export const isAnswer = (value: unknown): value is Answer => typeof value === "string";

export const limits = {
  paths: 1024,
  check(path: string): boolean {
    return path.length < limits.paths;
  },
};

/**
 * Finds the handler of a path.
 *
 * Routes are tried from the longest to the shortest, so that "/a/b" is found before "/a", whichever
 * was added first.
 */
@injectable()
export class Router<T> {
  private readonly routes: Array<[string, Handler<T>]> = [];
  protected fallback?: Handler<T>;

  constructor(private readonly state: T) {}

  /** Adds a route, and keeps the longest first. */
  @traced
  add(path: string, handler: Handler<T>): this {
    this.routes.push([path, handler]);
    this.routes.sort(([one], [other]) => other.length - one.length);
    return this;
  }

  readonly dispatch = (request: Request): Answer => {
    const found = this.routes.find(([path]) => request.path.startsWith(path));
    if (found === undefined) {
      return this.fallback?.(request, this.state) ?? { status: 404, body: "nothing here" };
    }
    return found[1](request, this.state);
  };

  static from<S>(state: S, table: Record<string, Handler<S>>): Router<S> {
    const router = new Router<S>(state);
    for (const [path, handler] of Object.entries(table)) {
      if (!limits.check(path)) {
        throw new RangeError(`the path ${path.slice(0, 20)}… is longer than ${limits.paths} characters`);
      }
      router.add(path, handler);
    }
    return router;
  }

  describe(): string {
    const lines = this.routes.map(([path, handler]) => `${path} -> ${handler.title ?? "a handler without a title"}`);
    return lines.length === 0 ? "no routes" : lines.join("\n");
  }
}

abstract class Middleware {
  abstract wrap(handler: Handler): Handler;
}

export namespace Paths {
  export const root = "/";
  export function clean(path: string): string {
    return parse(path).join("/");
  }
}

declare global {
  interface Window {
    router: Router<unknown>;
  }
}

declare module "legacy" {
  export function start(): void;
}

export default function main(): void {
  new Router(null).add(Paths.root, route("/"));
}
