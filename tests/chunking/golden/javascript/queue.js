#!/usr/bin/env node
'use strict';

const fs = require('fs');
const { join, resolve } = require('path');

const DEFAULTS = { retries: 3, delay: 250 };

/**
 * Waits without blocking.
 * @param {number} ms
 */
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function Queue(options) {
  this.options = Object.assign({}, DEFAULTS, options);
  this.jobs = [];
}

// Jobs run in the order in which they were pushed.
Queue.prototype.push = function (job) {
  this.jobs.push(job);
  return this;
};

Queue.prototype.drain = async function drain() {
  while (this.jobs.length) {
    await this.jobs.shift()();
  }
};

class Worker {
  static count = 0;
  #busy = false;

  handle = async (job) => {
    this.#busy = true;
    try {
      return await job();
    } finally {
      this.#busy = false;
    }
  };

  get busy() {
    return this.#busy;
  }
}

/** Reads the jobs that a directory holds, one file each. */
async function* jobsOf(directory) {
  const names = fs.readdirSync(directory).sort();
  for (const name of names) {
    const path = join(directory, name);
    const text = fs.readFileSync(path, 'utf8');
    let parsed;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      console.error(`skipping ${path}: ${error.message}`);
      continue;
    }
    if (!Array.isArray(parsed.steps)) {
      console.error(`skipping ${path}: no steps`);
      continue;
    }
    const steps = parsed.steps.map((step, index) => ({
      index,
      name: step.name || `step ${index}`,
      run: () => sleep(step.delay || DEFAULTS.delay),
    }));

    const report = (step, state) => {
      const line = `${new Date().toISOString()} ${name} ${step.name}: ${state}`;
      fs.appendFileSync(join(directory, 'log.txt'), line + '\n');
    };

    yield async () => {
      for (const step of steps) {
        report(step, 'started');
        let attempts = 0;
        for (;;) {
          try {
            await step.run();
            report(step, 'done');
            break;
          } catch (error) {
            attempts += 1;
            report(step, `failed for the ${attempts}. time`);
            if (attempts >= DEFAULTS.retries) {
              throw error;
            }
            await sleep(DEFAULTS.delay * attempts);
          }
        }
      }
    };
  }
}

const handlers = {
  start(queue) {
    return queue.drain();
  },
  stop: function (queue) {
    queue.jobs.length = 0;
  },
  status: (queue) => queue.jobs.length,
};

exports.sleep = sleep;
module.exports = { Queue, Worker, jobsOf, handlers };

describe('Queue', () => {
  it('keeps the order', async () => {
    const seen = [];
    const queue = new Queue().push(async () => seen.push(1));
    await queue.drain();
    expect(seen).toEqual([1]);
  });

  describe('when empty', () => {
    it.each([0, 1])('drains at once (%i)', async (retries) => {
      await new Queue({ retries }).drain();
    });
  });
});
