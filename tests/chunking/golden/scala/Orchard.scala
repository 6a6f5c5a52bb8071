package org.example.orchard

import scala.collection.mutable

/** A tree and its fruit. */
final case class Tree(kind: String, fruit: Int = 0) {
  def pick(count: Int): Tree = copy(fruit = fruit - count)
}

sealed trait Season
object Season {
  case object Spring extends Season
  case object Autumn extends Season

  val all: List[Season] = List(Spring, Autumn)
}

/** Trees in rows. */
class Orchard(trees: List[Tree]) {
  type Row = List[Tree]

  private val picked = mutable.Map.empty[String, Int]

  /** Picks what is ripe. */
  def harvest(season: Season): Int = season match {
    case Season.Autumn =>
      trees.foreach(tree => picked.update(tree.kind, tree.fruit))
      trees.map(_.fruit).sum
    case _ => 0
  }

  override def toString: String = s"${trees.size} trees"
}

class OrchardSuite extends munit.FunSuite {
  test("nothing is ripe in spring") {
    assertEquals(new Orchard(Nil).harvest(Season.Spring), 0)
  }
}

class OrchardSpec extends AnyWordSpec {
  "An orchard" should {
    "count its trees" in {
      assert(new Orchard(Nil).toString == "0 trees")
    }
  }
}

object Ladder {
  val Rungs = 12

  /** How often a ladder has to be moved for rows of trees.
    *
    * The rows are walked in turn, one from the left and the next from the right, so that nobody carries the
    * ladder back along a row that is done. Trees that are lower than the ladder need none.
    */
  def moves(rows: List[List[Int]], height: Int): Int = {
    val turned = rows.zipWithIndex.map {
      case (row, index) if index % 2 == 1 => row.reverse
      case (row, _) => row
    }
    val tall = turned.map(_.filter(_ > height))
    val within = tall.map(row => math.max(row.size - 1, 0)).sum
    val between = tall.count(_.nonEmpty) - 1
    if (between < 0) 0 else within + between
  }

  def describe(moves: Int): String = moves match {
    case 0 => "The ladder stays in the shed."
    case 1 => "The ladder is moved once."
    case many if many > Rungs => s"The ladder is moved $many times, which is more often than it has rungs."
    case many => s"The ladder is moved $many times."
  }
}
