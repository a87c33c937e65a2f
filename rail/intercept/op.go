package intercept

// Op says which call of the API an operation is.
type Op uint8

// The operations, by the names of fi_tagged(3), fi_msg(3), fi_rma(3) and fi_atomic(3).
const (
	OpTSend Op = iota
	OpTSendV
	OpTSendMsg
	OpTSendData
	OpTInject
	OpTInjectData
	OpSend
	OpSendV
	OpSendMsg
	OpSendData
	OpInject
	OpInjectData
	OpTRecv
	OpTRecvV
	OpTRecvMsg
	OpRecv
	OpRecvV
	OpRecvMsg
	OpRead
	OpReadV
	OpReadMsg
	OpWrite
	OpWriteV
	OpWriteMsg
	OpInjectWrite
	OpWriteData
	OpInjectWriteData
	OpAtomic
	OpAtomicV
	OpAtomicMsg
	OpInjectAtomic
	OpFetchAtomic
	OpFetchAtomicV
	OpFetchAtomicMsg
	OpCompareAtomic
	OpCompareAtomicV
	OpCompareAtomicMsg
	NumOps = iota
)

// operations has what the package knows of each: its name, and where its hook is. One
// of the last four is set. To add an operation, give it a number above, a field in
// Hooks, and a line here.
var operations = [NumOps]struct {
	name   string
	send   func(*Hooks) SendFunc
	recv   func(*Hooks) RecvFunc
	rma    func(*Hooks) RMAFunc
	atomic func(*Hooks) AtomicFunc
}{
	OpTSend:            {name: "tsend", send: func(h *Hooks) SendFunc { return h.TSend }},
	OpTSendV:           {name: "tsendv", send: func(h *Hooks) SendFunc { return h.TSendV }},
	OpTSendMsg:         {name: "tsendmsg", send: func(h *Hooks) SendFunc { return h.TSendMsg }},
	OpTSendData:        {name: "tsenddata", send: func(h *Hooks) SendFunc { return h.TSendData }},
	OpTInject:          {name: "tinject", send: func(h *Hooks) SendFunc { return h.TInject }},
	OpTInjectData:      {name: "tinjectdata", send: func(h *Hooks) SendFunc { return h.TInjectData }},
	OpSend:             {name: "send", send: func(h *Hooks) SendFunc { return h.Send }},
	OpSendV:            {name: "sendv", send: func(h *Hooks) SendFunc { return h.SendV }},
	OpSendMsg:          {name: "sendmsg", send: func(h *Hooks) SendFunc { return h.SendMsg }},
	OpSendData:         {name: "senddata", send: func(h *Hooks) SendFunc { return h.SendData }},
	OpInject:           {name: "inject", send: func(h *Hooks) SendFunc { return h.Inject }},
	OpInjectData:       {name: "injectdata", send: func(h *Hooks) SendFunc { return h.InjectData }},
	OpTRecv:            {name: "trecv", recv: func(h *Hooks) RecvFunc { return h.TRecv }},
	OpTRecvV:           {name: "trecvv", recv: func(h *Hooks) RecvFunc { return h.TRecvV }},
	OpTRecvMsg:         {name: "trecvmsg", recv: func(h *Hooks) RecvFunc { return h.TRecvMsg }},
	OpRecv:             {name: "recv", recv: func(h *Hooks) RecvFunc { return h.Recv }},
	OpRecvV:            {name: "recvv", recv: func(h *Hooks) RecvFunc { return h.RecvV }},
	OpRecvMsg:          {name: "recvmsg", recv: func(h *Hooks) RecvFunc { return h.RecvMsg }},
	OpRead:             {name: "read", rma: func(h *Hooks) RMAFunc { return h.Read }},
	OpReadV:            {name: "readv", rma: func(h *Hooks) RMAFunc { return h.ReadV }},
	OpReadMsg:          {name: "readmsg", rma: func(h *Hooks) RMAFunc { return h.ReadMsg }},
	OpWrite:            {name: "write", rma: func(h *Hooks) RMAFunc { return h.Write }},
	OpWriteV:           {name: "writev", rma: func(h *Hooks) RMAFunc { return h.WriteV }},
	OpWriteMsg:         {name: "writemsg", rma: func(h *Hooks) RMAFunc { return h.WriteMsg }},
	OpInjectWrite:      {name: "inject_write", rma: func(h *Hooks) RMAFunc { return h.InjectWrite }},
	OpWriteData:        {name: "writedata", rma: func(h *Hooks) RMAFunc { return h.WriteData }},
	OpInjectWriteData:  {name: "inject_writedata", rma: func(h *Hooks) RMAFunc { return h.InjectWriteData }},
	OpAtomic:           {name: "atomic", atomic: func(h *Hooks) AtomicFunc { return h.Atomic }},
	OpAtomicV:          {name: "atomicv", atomic: func(h *Hooks) AtomicFunc { return h.AtomicV }},
	OpAtomicMsg:        {name: "atomicmsg", atomic: func(h *Hooks) AtomicFunc { return h.AtomicMsg }},
	OpInjectAtomic:     {name: "inject_atomic", atomic: func(h *Hooks) AtomicFunc { return h.InjectAtomic }},
	OpFetchAtomic:      {name: "fetch_atomic", atomic: func(h *Hooks) AtomicFunc { return h.FetchAtomic }},
	OpFetchAtomicV:     {name: "fetch_atomicv", atomic: func(h *Hooks) AtomicFunc { return h.FetchAtomicV }},
	OpFetchAtomicMsg:   {name: "fetch_atomicmsg", atomic: func(h *Hooks) AtomicFunc { return h.FetchAtomicMsg }},
	OpCompareAtomic:    {name: "compare_atomic", atomic: func(h *Hooks) AtomicFunc { return h.CompareAtomic }},
	OpCompareAtomicV:   {name: "compare_atomicv", atomic: func(h *Hooks) AtomicFunc { return h.CompareAtomicV }},
	OpCompareAtomicMsg: {name: "compare_atomicmsg", atomic: func(h *Hooks) AtomicFunc { return h.CompareAtomicMsg }},
}

// String is the operation's name, as tsend or inject_write.
func (op Op) String() string {
	if int(op) < NumOps {
		return operations[op].name
	}
	return "unknown operation"
}
