// Package intercept lets a program see and change every operation of a link's rails,
// as ofi-intercept does for libfabric in C.
package intercept

// Op says which call of the API an operation is.
type Op uint8

// The operations, by the names of fi_tagged(3), fi_msg(3) and fi_rma(3).
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
	NumOps = iota
)

var opNames = [NumOps]string{
	"tsend", "tsendv", "tsendmsg", "tsenddata", "tinject", "tinjectdata",
	"send", "sendv", "sendmsg", "senddata", "inject", "injectdata",
	"trecv", "trecvv", "trecvmsg", "recv", "recvv", "recvmsg",
	"read", "readv", "readmsg",
	"write", "writev", "writemsg", "inject_write", "writedata", "inject_writedata",
}

// String is the operation's name, as tsend or inject_write.
func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return "unknown operation"
}
