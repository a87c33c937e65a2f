package suq_test

import (
	"fmt"

	"golnx/suq"
)

// A message of a sender not known yet is matched by name once it is, before
// messages that came after it.
func Example() {
	const alice = 3
	messages := []string{"first", "second"}

	q := suq.New(1)
	q.Push(0, suq.AnySource, 0x71)
	q.Push(1, alice, 0x71)

	for slot := range q.Unknown() {
		q.SetSource(slot, alice)
	}
	for q.Len() > 0 {
		slot, _ := q.Match(alice, 0x71, 0)
		fmt.Println(messages[slot])
	}
	// Output:
	// first
	// second
}
