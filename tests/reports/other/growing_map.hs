-- SPDX-License-Identifier: GPL-2.0-or-later
-- A Map of sessions in an IORef that only grows. `bounded`: the smallest key goes at 2,000.
--
-- kind: Haskell objects
-- leak haskell-map: leak
--   part: managed-objects
--   code: Session|Map|Bin|Main
-- healthy haskell-map-bounded: bounded
--   warm: 25
import Control.Concurrent (threadDelay)
import Control.Monad (forM_)
import Data.IORef
import qualified Data.Map.Strict as Map
import System.Environment (getArgs)
import System.IO.Unsafe (unsafePerformIO)

data Session = Session { user :: !String, number :: !Int }

sessions :: IORef (Map.Map Int Session)
sessions = unsafePerformIO (newIORef Map.empty)
{-# NOINLINE sessions #-}

open :: Bool -> Int -> IO ()
open bounded n = do
  let name = "user " ++ show n
  length name `seq` modifyIORef' sessions (trim . Map.insert n (Session name n))
  where trim m = if bounded && Map.size m > 2000 then Map.deleteMin m else m

main :: IO ()
main = do
  args <- getArgs
  forM_ [0 ..] $ \n -> do
    open (args == ["bounded"]) n
    if n `mod` 10 == 0 then threadDelay 20000 else return ()
