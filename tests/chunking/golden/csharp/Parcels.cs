using System;
using System.Collections.Generic;
using Xunit;

namespace Example.Post
{
    /// <summary>How fast a parcel travels.</summary>
    public enum Speed { Slow, Fast }

    public delegate void Arrived(Parcel parcel);

    public record Parcel(string To, decimal Weight);

    public interface ICarrier
    {
        bool CanCarry(Parcel parcel);
        decimal Price { get; }
    }

    public readonly struct Stamp
    {
        public readonly int Cents;
        public Stamp(int cents) => Cents = cents;
        public static Stamp operator +(Stamp a, Stamp b) => new Stamp(a.Cents + b.Cents);
    }

    /// <summary>
    /// Keeps parcels until a carrier takes them.
    /// </summary>
    [Serializable]
    public sealed class Depot : ICarrier
    {
        #region State
        private const int Room = 500;
        private readonly List<Parcel> parcels = new();
        public event Arrived? OnArrival;
        public decimal Price { get; private set; } = 2.5m;
        #endregion

        public Depot(params Parcel[] parcels) => this.parcels.AddRange(parcels);

        public Parcel this[int index] => parcels[index];

        /// <inheritdoc />
        public bool CanCarry(Parcel parcel) => parcel.Weight < 30 && parcels.Count < Room;

        /// <summary>
        /// Sorts what lies here into rounds, each of which one van can carry.
        /// </summary>
        /// <param name="load">How much a van carries, in kilograms.</param>
        /// <returns>The rounds, the heaviest parcels first.</returns>
        /// <exception cref="ArgumentException">A parcel is heavier than a van can carry.</exception>
        public IReadOnlyList<IReadOnlyList<Parcel>> Rounds(decimal load)
        {
            var rounds = new List<List<Parcel>>();
            var left = new List<decimal>();
            var sorted = new List<Parcel>(parcels);
            sorted.Sort((one, other) => other.Weight.CompareTo(one.Weight));
            foreach (var parcel in sorted)
            {
                if (parcel.Weight > load)
                {
                    throw new ArgumentException($"the parcel to {parcel.To} weighs {parcel.Weight} kg, a van carries {load} kg");
                }
                var place = left.FindIndex(room => room >= parcel.Weight);
                if (place < 0)
                {
                    rounds.Add(new List<Parcel>());
                    left.Add(load);
                    place = rounds.Count - 1;
                }
                rounds[place].Add(parcel);
                left[place] -= parcel.Weight;
            }

            decimal Wasted(int round) => left[round] / load;

            for (var round = 0; round < rounds.Count; round++)
            {
                Console.WriteLine($"round {round}: {rounds[round].Count} parcels, {Wasted(round):P0} of the van is empty");
            }
            return rounds;
        }

        public void Deliver(Parcel parcel)
        {
            parcels.Remove(parcel);
            OnArrival?.Invoke(parcel);
        }
    }

    public class DepotTests
    {
        [Fact]
        public void AnEmptyDepotHasNoRounds()
        {
            Assert.Empty(new Depot().Rounds(100));
        }

        [Theory]
        [InlineData(31)]
        public void HeavyParcelsStay(int weight)
        {
            Assert.False(new Depot().CanCarry(new Parcel("Ada", weight)));
        }
    }
}
