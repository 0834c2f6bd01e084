// SPDX-License-Identifier: GPL-2.0-or-later
// Trees whose children hold their parents by Rc: each document that is dropped stays. `fixed`: by Weak.
//
// kind: Rust
// leak rc-cycle: leak
//   part: native-blocks
//   code: tree_parents::parse
// healthy rc-weak: fixed
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::thread;
use std::time::Duration;

struct Node {
    text: String,
    strong: RefCell<Option<Rc<Node>>>,
    weak: RefCell<Weak<Node>>,
    children: RefCell<Vec<Rc<Node>>>,
}

fn node(text: String) -> Rc<Node> {
    Rc::new(Node { text, strong: RefCell::new(None), weak: RefCell::new(Weak::new()), children: RefCell::new(vec![]) })
}

#[inline(never)]
fn parse(n: u64, fixed: bool) -> Rc<Node> {
    let root = node(format!("document {n}"));
    for i in 0..10 {
        let child = node(format!("paragraph {i} of {n}: {}", "text ".repeat(40)));
        if fixed {
            *child.weak.borrow_mut() = Rc::downgrade(&root);
        } else {
            *child.strong.borrow_mut() = Some(root.clone());
        }
        root.children.borrow_mut().push(child);
    }
    root
}

fn main() {
    let fixed = std::env::args().nth(1).as_deref() == Some("fixed");
    for n in 0.. {
        let document = parse(n, fixed);
        std::hint::black_box(document.children.borrow().len() + document.text.len());
        if n % 5 == 0 {
            thread::sleep(Duration::from_millis(20));
        }
    }
}
