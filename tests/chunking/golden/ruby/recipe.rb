# frozen_string_literal: true

require "set"
require_relative "unit"

module Kitchen
  # A recipe and what it needs.
  class Recipe < Base
    include Comparable

    SERVINGS = 4
    attr_reader :title, :steps

    class << self
      # Reads a recipe from a file.
      def load(path)
        new(File.basename(path), File.readlines(path))
      end
    end

    def self.empty
      new("nothing", [])
    end

    def initialize(title, steps)
      @title = title
      @steps = steps
    end

    # Recipes are in the order of their titles.
    def <=>(other)
      title <=> other.title
    end

    private

    def checked?(step) = step.start_with?("[x]")
  end
end

class Kitchen::Stove
  def on! = @on = true
end

RSpec.describe Kitchen::Recipe do
  let(:recipe) { described_class.empty }

  it "has no steps" do
    expect(recipe.steps).to be_empty
  end

  context "when compared" do
    it "equals itself" do
      expect(recipe).to eq(recipe)
    end
  end
end

class RecipeTest < Minitest::Test
  def test_title
    assert_equal "nothing", Kitchen::Recipe.empty.title
  end
end

module Kitchen
  module Scale
    # Converts an amount between two units.
    #
    # Units of volume and of weight are kept apart: nothing here knows how much a cup of flour weighs, because that
    # depends on the flour, on the cup, and on whoever fills it.
    def self.convert(amount, from:, to:)
      grams = { g: 1, kg: 1000, oz: 28.3495, lb: 453.592 }
      millilitres = { ml: 1, l: 1000, cup: 236.588, spoon: 14.787 }
      table = [grams, millilitres].find { |units| units.key?(from) && units.key?(to) }
      raise ArgumentError, "#{from} and #{to} do not measure the same thing" if table.nil?

      converted = amount * table.fetch(from) / table.fetch(to)
      case converted
      when 0...1 then converted.round(3)
      when 1...10 then converted.round(2)
      when 10...100 then converted.round(1)
      else converted.round
      end
    end

    def self.describe(amount, unit)
      plural = amount == 1 ? "" : "s"
      case unit
      when :g, :kg, :oz, :lb then "#{amount} #{unit}"
      when :cup, :spoon then "#{amount} #{unit}#{plural}"
      when :ml, :l then "#{amount} #{unit}"
      else raise ArgumentError, "nobody in this kitchen measures in #{unit}"
      end
    end
  end
end
