// Package trace reads what the op timer recorded (golnx/rail/timer), of one rank or
// many, and finds out what there is to show: who sent how much to whom over which
// rail, how long it took, and what the NICs counted meanwhile.
//
// Open reads what is small: ranks, links, endpoints. Everything else is read row by
// row, so that memory grows with the number of ranks, links and counters, and not with
// the number of operations. The packages db, perfetto, report and plot write what
// Analyse and Run answer.
package trace
