package flight

import "time"

// A Meter counts the bytes of one transfer and reports its steps, and not too many of them.
type Meter struct {
	Bytes, Total int64                        // that have arrived, and that are expected; 0: unknown
	Report       func(kind string, err error) // a step: "bytes", "resumed", "restarted" or another

	resumes int
	last    time.Time // of the last report of bytes
}

// between two reports of bytes; eyes do not want more.
const interval = 100 * time.Millisecond

func (m *Meter) bytes() {
	m.last = time.Now()
	m.Report("bytes", nil)
}

// Started reports the begin of a transfer.
func (m *Meter) Started(total int64) {
	m.Bytes, m.Total, m.resumes = 0, total, 0
	m.bytes()
}

// Advanced notes how many bytes have arrived. The func resumes may be nil.
func (m *Meter) Advanced(size int64, resumes func() int) {
	m.Bytes = size
	if resumes != nil {
		if n := resumes(); n > m.resumes {
			m.resumes = n
			m.Report("resumed", nil)
		}
	}
	if time.Since(m.last) >= interval {
		m.bytes()
	}
}

// Finished reports that all bytes have arrived.
func (m *Meter) Finished() {
	m.Total = m.Bytes
	m.bytes()
}

// Restarted reports that the transfer begins again, because of err.
func (m *Meter) Restarted(err error) {
	m.Bytes = 0
	m.Report("restarted", err)
}
