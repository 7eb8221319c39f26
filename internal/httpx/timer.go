package httpx

import (
	"net/http"
	"time"

	"github.com/tofureg/tofureg/transport"
)

// timer is the timeout of an attempt, without pauses. It is not safe for concurrent use.
type timer struct {
	timer  *time.Timer // nil if there is no timeout
	left   time.Duration
	began  time.Time
	paused bool
}

// startTimer calls fn after d, unless d is 0.
func startTimer(d time.Duration, fn func()) *timer {
	if d <= 0 {
		return &timer{}
	}
	return &timer{timer: time.AfterFunc(d, fn), left: d, began: time.Now()}
}

// stop stops the timer. It returns false if fn has been called.
func (t *timer) stop() bool { return t.timer == nil || t.timer.Stop() }

// pause stops the timer until resume is called. A nested pause has no effect.
func (t *timer) pause() (resume func()) {
	if t.timer == nil || t.paused || !t.timer.Stop() {
		return func() {}
	}
	t.paused = true
	t.left -= time.Since(t.began)
	return func() {
		t.paused = false
		t.began = time.Now()
		t.timer.Reset(t.left)
	}
}

// RoundTrip makes a request. If next is a [transport.Waiter], it calls waiting.
func RoundTrip(next http.RoundTripper, req *http.Request, waiting func() (done func())) (*http.Response, error) {
	if w, ok := next.(transport.Waiter); ok {
		return w.RoundTripWaiting(req, waiting)
	}
	return next.RoundTrip(req)
}
