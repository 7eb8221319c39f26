package flight

import "time"

// A Meter reports the progress of a download.
type Meter struct {
	Bytes  int64                        // received bytes
	Total  int64                        // expected bytes; 0 if unknown
	Report func(kind string, err error) // called with "bytes", "resumed", "restarted" or another step

	resumes int
	last    time.Time // of the last report of bytes
}

// interval is the minimum time between two reports of bytes.
const interval = 100 * time.Millisecond

func (m *Meter) bytes() {
	m.last = time.Now()
	m.Report("bytes", nil)
}

// Started reports the start of a download.
func (m *Meter) Started(total int64) {
	m.Bytes, m.Total, m.resumes = 0, total, 0
	m.bytes()
}

// Advanced sets the number of received bytes. The function resumes may be nil.
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

// Finished reports the end of a download.
func (m *Meter) Finished() {
	m.Total = m.Bytes
	m.bytes()
}

// Restarted reports that the download starts again because of err.
func (m *Meter) Restarted(err error) {
	m.Bytes = 0
	m.Report("restarted", err)
}
