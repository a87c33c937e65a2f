package sim

type eventKind uint8

const (
	departs  eventKind = iota // the last byte of a message leaves
	arrives                   // a message is there
	goesDown                  // a rail
	comesUp
)

// event is something that will happen.
type event struct {
	at   int64
	seq  uint64
	m    *message // departs, arrives
	rail *rail    // goesDown, comesUp
	kind eventKind
	loss Loss
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// events is a binary heap, the next event first. (container/heap would allocate
// for each event.)
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(&s[parent]) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *events) pop() event {
	s := *h
	first, last := s[0], len(s)-1
	s[0], s[last] = s[last], event{}
	s = s[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s); child++ {
			if s[child].before(&s[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
	*h = s
	return first
}
