-- SPDX-License-Identifier: GPL-2.0-or-later
-- A workload (tests/workloads/workload.h) of Haskell: census MODE, of "leaking", "fixed" and "busy",
-- which goes on allocating. With
-- +RTS -hT -i0 its runtime counts its closures by type after each collection: see census.hp.
module Main where

import Control.Concurrent
import Control.Monad
import Data.IORef
import Foreign.StablePtr
import System.Environment
import System.IO
import System.IO.Unsafe (unsafePerformIO)
import System.Mem

data Item = Item !Int String

data Session = Session !Int [Item]

newtype Ticket = Ticket Session

data Pinned = Pinned !Int

{-# NOINLINE sessions #-}
sessions :: IORef [Session]
sessions = unsafePerformIO (newIORef [])

-- The story of a large thunk: nobody looks at the sum, so that nothing is ever added.
{-# NOINLINE total #-}
total :: IORef Int
total = unsafePerformIO (newIORef 0)

open :: Int -> Session
open n = Session n [Item (n + i) (show i) | i <- [1 .. 7]]

evaluated :: Session -> Int
evaluated (Session _ items) = sum [n + length name | Item n name <- items]

-- Garbage, some of which lives for a while: collections that move what is left.
churn :: [[Int]] -> Int -> IO ()
churn recent n = do
  let list = [n .. n + 100]
      kept = if n `mod` 500 == 0 then [] else list : recent
  sum list `seq` kept `seq` churn kept (n + 1)

-- Tests know the number of this line.
{-# NOINLINE grow #-}
grow :: (IORef Int -> (Int -> Int) -> IO ()) -> IO ()
grow add = forM_ [1 .. 30000] $ \i -> add total (+ i)

answer :: (IORef Int -> (Int -> Int) -> IO ()) -> IO ()
answer add = do
  line <- getLine
  when (line == "total") $ readIORef total >>= print
  when (line == "more") $ do
    grow add
    performMajorGC
    putStrLn "done"
    hFlush stdout
    answer add

main :: IO ()
main = do
  [mode] <- getArgs
  let add = if mode == "leaking" then modifyIORef else modifyIORef'
  forM_ [1 .. 3000] $ \i -> do
    let session = open i
    evaluated session `seq` modifyIORef' sessions (session :)
  pins <- forM [1 .. 7] (\i -> newStablePtr $! Pinned i)
  grow add
  when (mode == "busy") $ void (forkIO (churn [] 0))
  performMajorGC
  putStrLn "ready"
  hFlush stdout
  answer add
  readIORef sessions >>= print . length
  mapM_ freeStablePtr pins
