-- SPDX-License-Identifier: GPL-2.0-or-later
-- Report: haskell-github-trust/ekg-core#21, jaspervdj/websockets#153. atomicModifyIORef leaves a thunk each time, for
-- nobody looks at the value. `lazy`: atomicModifyIORef' with the lazy Map, whose values are thunks. `fixed`: both are
-- strict.
--
-- kind: Haskell objects
-- leak thunk-chain: leak
--   part: managed-objects
--   code: THUNK|Main
-- leak thunk-lazy-map: lazy
--   part: managed-objects
--   code: THUNK|Main
-- healthy thunk-none: fixed
import Control.Concurrent (threadDelay)
import Control.Monad (forM_, forever)
import Data.IORef
import qualified Data.Map as Lazy
import qualified Data.Map.Strict as Map
import System.Environment (getArgs)
import System.IO.Unsafe (unsafePerformIO)

requests :: IORef (Map.Map String Int)
requests = unsafePerformIO (newIORef Map.empty)
{-# NOINLINE requests #-}

countRequest :: String -> String -> IO ()
countRequest mode path
  | mode == "fixed" = atomicModifyIORef' requests (\m -> (Map.insertWith (+) path 1 m, ()))
  | mode == "lazy" = atomicModifyIORef' requests (\m -> (Lazy.insertWith (+) path 1 m, ()))
  | otherwise = atomicModifyIORef requests (\m -> (Map.insertWith (+) path 1 m, ()))

main :: IO ()
main = do
  args <- getArgs
  forever $ do
    forM_ [1 .. 20] $ \n -> countRequest (concat args) ("/page/" ++ show (n `mod` 5 :: Int))
    threadDelay 20000
