defmodule Post.Mailbox do
  @moduledoc """
  A mailbox that keeps letters until they are read.
  """

  use GenServer
  alias Post.Letter

  @limit 100

  @type t :: %__MODULE__{letters: [Letter.t()]}

  defstruct letters: []

  @doc """
  Puts a letter in.
  """
  @spec put(t, Letter.t()) :: {:ok, t} | :full
  def put(%{letters: letters}, _letter) when length(letters) >= @limit, do: :full

  def put(box, letter) do
    {:ok, %{box | letters: [letter | box.letters]}}
  end

  defp oldest([]), do: nil
  defp oldest(letters), do: List.last(letters)

  @impl true
  def init(letters) do
    {:ok, %__MODULE__{letters: letters}}
  end

  defmacro sealed(letter) do
    quote do: unquote(letter).sealed
  end
end

defprotocol Post.Weighable do
  def weight(thing)
end

defimpl Post.Weighable, for: Post.Mailbox do
  def weight(box), do: length(box.letters)
end

defmodule Post.MailboxTest do
  use ExUnit.Case

  describe "put/2" do
    test "keeps a letter" do
      assert {:ok, %{letters: [:a]}} = Post.Mailbox.put(%Post.Mailbox{}, :a)
    end
  end
end

defmodule Post.Sorter do
  @moduledoc false

  @doc """
  Sorts letters into bags, by the first two digits of where they go.

  Letters without a number go into the bag of the office, where somebody reads them. A bag that would be heavier than
  the limit is closed and another one is opened for the same place, because bags are carried by people.
  """
  def sort(letters, limit) do
    letters
    |> Enum.group_by(&place/1)
    |> Enum.flat_map(fn {place, letters} ->
      letters
      |> Enum.chunk_while(
        {[], 0},
        fn letter, {bag, weight} ->
          if weight + letter.weight > limit do
            {:cont, {place, Enum.reverse(bag)}, {[letter], letter.weight}}
          else
            {:cont, {[letter | bag], weight + letter.weight}}
          end
        end,
        fn
          {[], _} -> {:cont, {[], 0}}
          {bag, _} -> {:cont, {place, Enum.reverse(bag)}, {[], 0}}
        end
      )
    end)
  end

  defp place(%{code: <<place::binary-size(2), _::binary>>}), do: place
  defp place(_), do: :office
end
