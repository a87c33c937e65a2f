package sim

// queue is a ring that grows; its zero value is empty.
type queue[T any] struct {
	ring       []T // its length is a power of two
	head, tail uint
}

func (q *queue[T]) len() int { return int(q.tail - q.head) }

func (q *queue[T]) at(i uint) *T { return &q.ring[i&uint(len(q.ring)-1)] }

func (q *queue[T]) push(v T) {
	if q.len() == len(q.ring) {
		bigger := queue[T]{ring: make([]T, max(16, 2*len(q.ring))), head: q.head, tail: q.tail}
		for i := q.head; i != q.tail; i++ {
			*bigger.at(i) = *q.at(i)
		}
		*q = bigger
	}
	*q.at(q.tail) = v
	q.tail++
}

// first is the oldest element; the queue must have one.
func (q *queue[T]) first() *T { return q.at(q.head) }

func (q *queue[T]) pop() T {
	var zero T
	v := *q.first()
	*q.first() = zero
	q.head++
	return v
}

// side answers the oldest elements as far as they lie side by side.
func (q *queue[T]) side() []T {
	if q.len() == 0 {
		return nil
	}
	at := q.head & uint(len(q.ring)-1)
	return q.ring[at:min(at+uint(q.len()), uint(len(q.ring)))]
}
