-- SPDX-License-Identifier: GPL-2.0-or-later
module Main where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import Data.IORef
import GHC.Clock
import System.Environment
import System.IO
import System.Mem

data Item = Item !Int !Int

beat :: IORef Double -> Double -> IO ()
beat longest before = do
  threadDelay 1000
  now <- getMonotonicTime
  atomicModifyIORef' longest $ \most -> (max most (now - before), ())
  beat longest now

answer :: IORef Double -> IO ()
answer longest = do
  ended <- isEOF
  unless ended $ do
    line <- getLine
    if null line
      then atomicModifyIORef' longest (\most -> (0, most)) >>= print
      else performMajorGC >> threadDelay 5000 >> putStrLn "done"
    answer longest

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  [count] <- getArgs
  kept <- newIORef [Item n (n + 1) | n <- [1 .. read count `div` 2]]
  items <- readIORef kept
  performMajorGC
  _ <- evaluate (sum [a + b | Item a b <- items])
  putStrLn "ready"
  longest <- newIORef 0
  _ <- forkIO (getMonotonicTime >>= beat longest)
  answer longest
  readIORef kept >>= print . length
