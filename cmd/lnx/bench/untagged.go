package bench

// OpSend is untagged messages. They match receives of their sender in the order in which
// they were posted, so that a receive knows which message is its.
const OpSend = "send"

func init() {
	RegisterOp(Op{Name: OpSend, Help: "untagged messages"})
	Register(Test{Name: "lat", Op: OpSend, Help: latHelp, Times: true, Iters: latIters, Lead: leadLat, Follow: followLat})
	Register(Test{Name: "rate", Op: OpSend, Help: rateHelp, Window: rateWindow, Both: true, Iters: rateIters, Lead: leadRate, Follow: followRate})
	Register(Test{Name: "bw", Op: OpSend, Help: bwHelp, Size: bwSize, Window: bwWindow, Both: true, Iters: bwIters, Lead: leadBW, Follow: followStream})
}

// newMessages answers slots for the messages that are measured. Others are tagged always.
func (e *End) newMessages(n int, p *Params) []slot {
	slots := e.newSlots(n, p.Size)
	for i := range slots {
		slots[i].untagged = p.Op == OpSend
	}
	return slots
}
