-- SPDX-License-Identifier: GPL-2.0-or-later
-- A workload (tests/workloads/workload.h): a sum at which nobody looks, in a variable of main. Its
-- constant expressions are dead before it is ready.
module Main where

import Control.Monad
import Data.IORef
import System.IO
import System.Mem

main :: IO ()
main = do
  total <- newIORef (0 :: Int)
  forM_ [1 .. 100000] $ \i -> modifyIORef total (+ i)
  performMajorGC
  putStrLn "ready"
  hFlush stdout
  line <- getLine
  when (line == "total") $ readIORef total >>= print
