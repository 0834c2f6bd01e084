/* SPDX-License-Identifier: GPL-2.0-or-later */
#error "registers by number are of one processor"
