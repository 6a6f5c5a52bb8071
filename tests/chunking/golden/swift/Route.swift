import Foundation
import XCTest

/// A place on the map.
public struct Point: Hashable {
    public var x: Double
    public var y: Double

    public init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }

    func distance(to other: Point) -> Double {
        ((x - other.x) * (x - other.x) + (y - other.y) * (y - other.y)).squareRoot()
    }
}

protocol Walkable {
    var length: Double { get }
    func reversed() -> Self
}

enum Surface: String {
    case gravel, asphalt
    case sand
}

/// A way over several points.
final class Route: Walkable {
    private(set) var points: [Point]
    static let empty = Route([])

    init(_ points: [Point]) {
        self.points = points
    }

    deinit { points.removeAll() }

    var length: Double {
        zip(points, points.dropFirst()).map { $0.distance(to: $1) }.reduce(0, +)
    }

    func reversed() -> Route { Route(points.reversed()) }

    subscript(index: Int) -> Point { points[index] }
}

extension Route: CustomStringConvertible {
    var description: String { "\(points.count) points" }
}

typealias Track = [Route]

func total(_ track: Track) -> Double { track.map(\.length).reduce(0, +) }

final class RouteTests: XCTestCase {
    func testEmpty() {
        XCTAssertEqual(Route.empty.length, 0)
    }
}

extension Route {
    /// Leaves out points that lie close to the line between their neighbours.
    ///
    /// The method is the one of Ramer, Douglas and Peucker: the point that is farthest from the line stays and parts the
    /// route, and both parts are treated alike. The first and the last point always stay.
    func simplified(tolerance: Double) -> Route {
        guard points.count > 2, let first = points.first, let last = points.last else {
            return self
        }
        var farthest = 0
        var distance = 0.0
        for (index, point) in points.enumerated() {
            let length = first.distance(to: last)
            let area = abs((last.x - first.x) * (first.y - point.y) - (first.x - point.x) * (last.y - first.y))
            let off = length == 0 ? point.distance(to: first) : area / length
            if off > distance {
                farthest = index
                distance = off
            }
        }
        if distance <= tolerance {
            return Route([first, last])
        }
        let head = Route(Array(points[...farthest])).simplified(tolerance: tolerance)
        let tail = Route(Array(points[farthest...])).simplified(tolerance: tolerance)
        return Route(head.points.dropLast() + tail.points)
    }

    @MainActor
    func draw(on canvas: Canvas, width: Double = 2) {
        canvas.move(to: points[0])
        points.dropFirst().forEach { canvas.line(to: $0, width: width) }
    }
}
