@file:JvmName("Greenhouse")

package org.example.garden

import kotlin.test.Test
import kotlin.time.Duration

/**
 * What is measured in one bed.
 */
data class Reading(val bed: String, val moisture: Double, val at: Long = 0)

/** How dry a bed may get. */
const val DRY = 0.2

typealias Readings = List<Reading>

sealed interface Action {
    data class Water(val bed: String, val litres: Double) : Action
    object Wait : Action
}

enum class Season(val factor: Double) {
    SPRING(1.0),
    SUMMER(1.6) {
        override fun describe() = "hot"
    };

    open fun describe() = name.lowercase()
}

val Readings.driest: Reading?
    get() = minByOrNull { it.moisture }

/** The mean of all beds, 0 when there are none. */
fun Readings.mean(): Double = if (isEmpty()) 0.0 else sumOf { it.moisture } / size

fun <T : Any> Map<String, T>.orFail(key: String): T = this[key] ?: error("no $key")

@Suppress("MagicNumber")
class Greenhouse(
    private val beds: Map<String, Double>,
    private val season: Season = Season.SPRING,
) {
    companion object {
        const val LIMIT = 20.0

        @JvmStatic
        fun empty() = Greenhouse(emptyMap())
    }

    private val log = mutableListOf<Action>()

    init {
        require(beds.values.all { it > 0 })
    }

    constructor(vararg beds: String) : this(beds.associateWith { 1.0 })

    /**
     * Decides what is to be done for a set of readings.
     *
     * Beds are looked at from the driest to the wettest, until the water of the day is used up. A bed that was
     * watered within the last hour is left alone, however dry it reads: the sensors need that long to notice.
     *
     * @param readings the last reading of each bed
     * @param since how long ago the last round was
     */
    fun decide(readings: Readings, since: Duration): List<Action> {
        var left = LIMIT * season.factor
        val actions = mutableListOf<Action>()
        for (reading in readings.sortedBy { it.moisture }) {
            val area = beds[reading.bed] ?: continue
            val wanted = (DRY - reading.moisture).coerceAtLeast(0.0) * area * 10
            if (wanted == 0.0 || since.inWholeMinutes < 60) {
                actions += Action.Wait
                continue
            }
            val given = minOf(wanted, left)
            left -= given
            actions += Action.Water(reading.bed, given)
            if (left <= 0.0) {
                println("the water of the day is used up after ${actions.size} beds of ${readings.size}")
                break
            }
        }
        val watered = actions.filterIsInstance<Action.Water>().sumOf { it.litres }
        println("gave $watered litres to ${actions.count { it is Action.Water }} beds, kept $left for later")
        log += actions
        return actions
    }
}

class GreenhouseTest {
    @Test
    fun `an empty house needs no water`() {
        check(Greenhouse.empty().decide(emptyList(), Duration.ZERO).isEmpty())
    }
}

class GreenhouseSpec : StringSpec({
    "a dry bed is watered" {
        Greenhouse("a").decide(listOf(Reading("a", 0.1)), Duration.INFINITE).size shouldBe 1
    }
})
