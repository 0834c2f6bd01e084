// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.*;
public class Bench {
    static final class Item { int number; Object[] list; Item(int n) { number = n; list = new Object[]{"x", this}; } }
    static List<Item> kept = new ArrayList<>();
    static volatile long longest;
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]) / 2;
        for (int i = 0; i < count; i++) kept.add(new Item(i));
        Thread beat = new Thread(() -> {
            for (long before = System.nanoTime();;) {
                try { Thread.sleep(1); } catch (InterruptedException e) { return; }
                long now = System.nanoTime();
                longest = Math.max(longest, now - before);
                before = now;
            }
        });
        beat.setDaemon(true);
        beat.start();
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            in.nextLine();
            System.out.println(longest / 1e9);
            longest = 0;
        }
    }
}
