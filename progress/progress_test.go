package progress_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/progress"
)

// TestMeter: the events of a transfer that is resumed, starts again and becomes shorter. The total does not go down
// before the end.
func TestMeter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []string
		m := progress.Meter{Event: progress.Event{Dir: "m"}, Report: func(e progress.Event) {
			got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s %d/%d %v", e.Dir, e.Kind, e.Bytes, e.Total, e.Err), " <nil>"))
		}}
		resumes := 0
		m.Start(100)
		m.Advance(10, func() int { return resumes }) // too early for an event
		time.Sleep(99 * time.Millisecond)
		m.Advance(20, nil)
		time.Sleep(time.Millisecond)
		m.Advance(30, nil)
		resumes = 1
		m.Advance(40, func() int { return resumes })
		m.Restart(errors.New("changed"))
		m.Start(0)
		m.Send(progress.Resumed, nil)
		m.Start(80)
		if n, err := m.Write(make([]byte, 50)); n != 50 || err != nil {
			t.Errorf("Write = %d, %v, want 50 bytes", n, err)
		}
		m.Finish()
		want := []string{
			"m bytes 0/100", "m bytes 30/100", "m resumed 40/100", "m restarted 0/100 changed", "m bytes 0/100",
			"m resumed 0/100", "m bytes 0/100", "m bytes 50/50",
		}
		if !slices.Equal(got, want) {
			t.Errorf("events\n %q, want\n %q", got, want)
		}
	})
}

// The zero Meter counts and reports nothing.
func TestMeterWithoutReport(t *testing.T) {
	t.Parallel()
	var m progress.Meter
	m.Start(3)
	n, err := io.Copy(io.Discard, io.TeeReader(strings.NewReader("abc"), &m))
	m.Finish()
	if n != 3 || err != nil || m.Bytes != 3 || m.Total != 3 {
		t.Errorf("copied %d, %v, counted %d of %d; want 3", n, err, m.Bytes, m.Total)
	}
}
