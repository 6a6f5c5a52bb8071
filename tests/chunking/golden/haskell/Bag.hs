{-# LANGUAGE LambdaCase #-}
-- | Bags: sets that count.
module Data.Bag (Bag, empty, insert, size) where

import qualified Data.Map as M
import Data.Maybe (fromMaybe)

-- | A bag of things.
newtype Bag a = Bag (M.Map a Int)

data Change a
  = Added a
  | Removed a
  deriving (Show, Eq)

type Count = Int

class Sized f where
  -- | How many there are.
  size :: f a -> Count

instance Sized Bag where
  size (Bag m) = sum (M.elems m)

-- | A bag with nothing in it.
empty :: Bag a
empty = Bag M.empty

-- | Puts one more in.
--
-- Takes logarithmic time.
insert :: Ord a => a -> Bag a -> Bag a
insert x (Bag m) = Bag (M.insertWith (+) x 1 m)

apply :: Ord a => Change a -> Bag a -> Bag a
apply (Added x) bag = insert x bag
apply (Removed x) (Bag m) = Bag (M.adjust (subtract 1) x m)

-- | Shows a bag as a table, the commonest first.
--
-- Columns are as wide as their widest entry; numbers stand to the right. Entries that are equally common are in
-- their own order, so that the same bag is always shown in the same way, whatever it was made from.
table :: (Ord a, Show a) => Bag a -> String
table (Bag m) = unlines (map row entries)
  where
    entries = sortOn (\(x, n) -> (negate n, x)) (M.toList m)
    width = maximum (0 : map (length . show . fst) entries)
    digits = maximum (0 : map (length . show . snd) entries)
    row (x, n) = padRight width (show x) ++ "  " ++ padLeft digits (show n)
    padRight k s = s ++ replicate (k - length s) ' '
    padLeft k s = replicate (k - length s) ' ' ++ s

(<+>) :: Ord a => Bag a -> Bag a -> Bag a
Bag a <+> Bag b = Bag (M.unionWith (+) a b)

-- | What changes one bag into another.
changes :: Ord a => Bag a -> Bag a -> [Change a]
changes (Bag a) (Bag b) = added ++ removed
  where
    added = concat [replicate n (Added x) | (x, n) <- M.toList (M.differenceWith less b a)]
    removed = concat [replicate n (Removed x) | (x, n) <- M.toList (M.differenceWith less a b)]
    less n k = if n > k then Just (n - k) else Nothing
