-- SPDX-License-Identifier: GPL-2.0-or-later
-- A program under load that checks itself; what it reads and writes: see ../no_harm.py.
module Main where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.IORef
import Data.List (intercalate)
import qualified Data.Map.Strict as Map
import Data.Word (Word8)
import Foreign.C.Error (Errno (..), getErrno)
import Foreign.C.Types
import Foreign.Marshal.Alloc (allocaBytes)
import Foreign.Marshal.Array (peekArray, withArray, withArrayLen)
import Foreign.Ptr
import GHC.Clock (getMonotonicTime)
import GHC.Stats (gcs, getRTSStats)
import System.IO
import System.Mem (performMajorGC)
import System.Mem.Weak (deRefWeak, mkWeakPtr)
import System.Posix.Signals
import System.Timeout (timeout)

foreign import ccall safe "socketpair" c_socketpair :: CInt -> CInt -> CInt -> Ptr CInt -> IO CInt
foreign import ccall safe "write" c_write :: CInt -> Ptr Word8 -> CSize -> IO CLong
foreign import ccall safe "recv" c_recv :: CInt -> Ptr Word8 -> CSize -> CInt -> IO CLong
foreign import ccall safe "epoll_create1" c_epoll_create :: CInt -> IO CInt
foreign import ccall safe "epoll_ctl" c_epoll_ctl :: CInt -> CInt -> CInt -> Ptr CInt -> IO CInt
foreign import ccall safe "epoll_wait" c_epoll_wait :: CInt -> Ptr CInt -> CInt -> CInt -> IO CInt
foreign import ccall safe "poll" c_poll :: Ptr () -> CULong -> CInt -> IO CInt
foreign import ccall safe "usleep" c_usleep :: CUInt -> IO CInt

data Node = Node !Int String

type Counters = IORef (Map.Map String Int)

data State = State { counts, wrong, alone, looked :: Counters, phase :: IORef (State -> Counters, Double) }

add :: Counters -> String -> IO ()
add counters name = atomicModifyIORef' counters $ \all' -> (Map.insertWith (+) name 1 all', ())

expect :: State -> String -> Bool -> IO ()
expect state name right = unless right $ add (wrong state) name

call :: (Integral a, Show a) => State -> String -> a -> IO a -> IO ()
call state name wanted work = do
  got <- work
  Errno code <- getErrno
  unless (got == wanted) $ add (wrong state) (name ++ ": " ++ show got ++ ", errno " ++ show code)

-- Threads of the operating system that no signal reaches: nothing may interrupt their calls.
start :: State -> String -> IO () -> IO ()
start state name work = void $ forkOS $ do
  blockSignals fullSignalSet
  work `catch` \error' -> add (wrong state) (name ++ ": " ++ show (error' :: SomeException))

checkKept :: State -> Map.Map Int Node -> IO ()
checkKept state kept = do
  let right = length [() | (i, Node number text) <- Map.toList kept, i == number, text == "key " ++ show i]
  expect state "planted objects" (right == 1000)
  add (counts state) "checks"

allocate :: State -> IORef (Map.Map Int Node) -> Int -> IO ()
allocate state kept turn = do
  nodes <- evaluate $ Map.fromList [(i, Node i (show i)) | i <- [turn .. turn + 2999]]
  let total = sum [i + length text - length (show i) | Node i text <- Map.elems nodes]
  expect state "new objects" (total == 3000 * turn + 4498500)
  seen <- newIORef turn >>= \garbage -> mkWeakPtr garbage Nothing
  modifyIORef' kept $ Map.adjust (\(Node i _) -> Node i ("key " ++ show i)) (turn `mod` 1000)
  add (counts state) "rounds"
  when (turn `mod` 20 == 0) $ do
    performMajorGC
    stays <- deRefWeak seen
    expect state "garbage that stays" (maybe True (const False) stays)
    collections <- gcs <$> getRTSStats
    atomicModifyIORef' (counts state) $ \all' -> (Map.insert "collections" (fromIntegral collections) all', ())
    readIORef kept >>= checkKept state
  threadDelay 2000
  allocate state kept (turn + 1)

bytes :: Int -> [Word8]
bytes number = [fromIntegral (number + i * 31) | i <- [0 .. number * 37 `mod` 4000]]

send :: State -> CInt -> Int -> IO ()
send state out number = do
  withArrayLen (bytes number) $ \size from ->
    call state "write" (fromIntegral size) $ c_write out from (fromIntegral size)
  when (number `mod` 5 == 0) $ call state "usleep" 0 (c_usleep 5000)
  send state out (number + 1)

receive :: State -> CInt -> CInt -> Int -> IO ()
receive state poll from number = do
  let wanted = bytes number
      size = length wanted
  allocaBytes 12 $ \events -> call state "epoll_wait" 1 $ c_epoll_wait poll events 1 60000
  got <- allocaBytes size $ \into -> do
    call state "recv" (fromIntegral size) $ c_recv from into (fromIntegral size) 0x100 -- MSG_WAITALL
    peekArray size into
  expect state "received bytes" (got == wanted)
  add (counts state) "received"
  receive state poll from (number + 1)

wait :: State -> CInt -> IO ()
wait state quiet = do
  began <- getMonotonicTime
  allocaBytes 12 $ \events -> call state "epoll_wait in vain" 0 $ c_epoll_wait quiet events 1 7
  call state "poll in vain" 0 $ c_poll nullPtr 0 7
  call state "usleep" 0 $ c_usleep 7000
  threadDelay 7000
  ended <- getMonotonicTime
  expect state "waited too short" (ended - began >= 0.028)
  add (counts state) "waits"
  wait state quiet

give :: MVar Int -> Int -> IO ()
give items number = putMVar items number >> threadDelay 1000 >> give items (number + 1)

-- With a limit of time, which is one of the runtime's own timers.
take' :: State -> MVar Int -> Int -> IO ()
take' state items wanted = do
  got <- timeout 60000000 (takeMVar items)
  expect state "items in order" (got == Just wanted)
  add (counts state) "handed"
  take' state items (wanted + 1)

beat :: State -> Double -> IO ()
beat state before = do
  threadDelay 1000
  now <- getMonotonicTime
  (histogram, since) <- readIORef (phase state)
  when (before >= since) $ add (histogram state) (show (truncate ((now - before) * 1e5) :: Int))
  add (counts state) "beats"
  beat state now

answer :: State -> IO String
answer state = do
  parts <- forM [("counts", counts), ("wrong", wrong), ("alone", alone), ("looked", looked)] $ \(name, counters) -> do
    entries <- Map.toList <$> readIORef (counters state)
    return $ show name ++ ":{" ++ intercalate "," [show key ++ ":" ++ show count | (key, count) <- entries] ++ "}"
  return $ "{" ++ intercalate "," parts ++ "}"

listen :: State -> IO ()
listen state = do
  ended <- isEOF
  unless ended $ do
    line <- getLine
    now <- getMonotonicTime
    case line of
      "truth" -> answer state >>= putStrLn
      "looked" -> writeIORef (phase state) (looked, now)
      _ -> writeIORef (phase state) (alone, now)
    listen state

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  now <- getMonotonicTime
  state <- State <$> newIORef Map.empty <*> newIORef Map.empty <*> newIORef Map.empty <*> newIORef Map.empty
    <*> newIORef (alone, now)
  kept <- newIORef $ Map.fromList [(i, Node i ("key " ++ show i)) | i <- [0 .. 999]]
  items <- newEmptyMVar
  [out, into] <- allocaBytes 8 $ \ends -> call state "socketpair" 0 (c_socketpair 1 1 0 ends) >> peekArray 2 ends
  poll <- c_epoll_create 0
  quiet <- c_epoll_create 0
  withArray [1, 0, 0] $ call state "epoll_ctl" 0 . c_epoll_ctl poll 1 into
  _ <- installHandler sigUSR1 (Catch (add (counts state) "signals" >> putStrLn "s")) Nothing
  start state "send" (send state out 0)
  start state "receive" (receive state poll into 0)
  start state "wait" (wait state quiet)
  mapM_ (forkIO . handle (\error' -> add (wrong state) (show (error' :: SomeException))))
    [ allocate state kept 1, give items 0, take' state items 0, beat state now
    , forever (threadDelay 5000 >> add (counts state) "ticks") ]
  putStrLn "ready"
  listen state
