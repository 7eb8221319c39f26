package webserve_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/internal/webserve"
)

// TestShareOfAddress: an IPv4 address is a client, and so is a network of 2⁶⁴ IPv6 addresses.
func TestShareOfAddress(t *testing.T) {
	t.Parallel()
	for second, same := range map[[2]string]bool{
		{"192.0.2.1:1", "192.0.2.1:2"}:                  true,
		{"192.0.2.1:1", "[::ffff:192.0.2.1]:2"}:         true,
		{"192.0.2.1:1", "192.0.2.2:1"}:                  false,
		{"[2001:db8::1]:1", "[2001:db8::ffff:0:0:1]:1"}: true,
		{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1"}:      false,
		{"[fe80::1%eth0]:1", "[fe80::2%eth1]:1"}:        true,
		{"@", "@"}:                                      true,
		{"[2001:db8::1]:1", "192.0.2.1:1"}:              false,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := webserve.New(webserve.Config{Name: "test", Parallel: 1})
			enter := func(addr string) (func(), error) {
				r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
				r.RemoteAddr = addr
				return s.EnterArchive(r)
			}
			for range 4 { // the share
				leave := must.Get(enter(second[0]))(t)
				defer leave()
			}
			leave, err := enter(second[1])
			if (err != nil) != same {
				t.Errorf("%s beside %s: %v; want an error: %t", second[1], second[0], err, same)
			}
			if err == nil {
				leave()
			}
		})
	}
}

// timed is a response that has a deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	w.deadline = at
	return nil
}

func (w *timed) Write(p []byte) (int, error) {
	if time.Until(w.deadline) != webserve.Stall {
		return 0, context.DeadlineExceeded
	}
	return w.ResponseRecorder.Write(p)
}

func (w *timed) FlushError() error {
	_, err := w.Write(nil)
	return err
}

// TestDeadlines: each write has a deadline, and so has the end of the answer, but nothing between, so
// that a source may take its time.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		s := webserve.New(webserve.Config{Name: "test"})
		s.Serve(w, httptest.NewRequest("GET", "/", nil), func(out http.ResponseWriter, _ *http.Request) error {
			for range 3 {
				time.Sleep(time.Hour)
				if !w.deadline.IsZero() {
					t.Errorf("there is a deadline %v before the write", time.Until(w.deadline))
				}
				if _, err := out.Write([]byte("x")); err != nil {
					t.Errorf("Write: %v", err)
				}
				if err := http.NewResponseController(out).Flush(); err != nil {
					t.Errorf("Flush: %v", err)
				}
			}
			return nil
		})
		if left := time.Until(w.deadline); left != webserve.Stall || w.Body.String() != "xxx" {
			t.Errorf("after the answer %q the deadline is in %v, want %v", w.Body, left, webserve.Stall)
		}
	})
}

// TestWarnings: what is easily forgotten is logged once, and only if it is missing.
func TestWarnings(t *testing.T) {
	t.Parallel()
	authorize := func(*http.Request) error { return errors.New("no") }
	client := func(*http.Request) string { return "" }
	for _, test := range []struct {
		name   string
		config webserve.Config
		header string
		want   string
	}{
		{"Authorize without Secret", webserve.Config{Authorize: authorize}, "", "without Secret"},
		{"an empty Secret", webserve.Config{Authorize: authorize, Secret: []byte{}}, "", "without Secret"},
		{"Authorize with Secret", webserve.Config{Authorize: authorize, Secret: []byte("x")}, "", ""},
		{"neither", webserve.Config{}, "", ""},
		{"a proxy without Client", webserve.Config{}, "X-Forwarded-For", "Client is not set"},
		{"a proxy of RFC 7239 without Client", webserve.Config{}, "Forwarded", "Client is not set"},
		{"a proxy with Client", webserve.Config{Client: client}, "Forwarded", ""},
		{"another header", webserve.Config{}, "X-Forwarded-Proto", ""},
	} {
		var log bytes.Buffer
		for _, logger := range []*slog.Logger{nil, slog.New(slog.NewTextHandler(&log, nil))} {
			test.config.Name, test.config.Logger = "test", logger
			s := webserve.New(test.config)
			for range 3 {
				r := httptest.NewRequest("GET", "/", nil)
				if test.header != "" {
					r.Header.Set(test.header, "for=192.0.2.1")
				}
				s.Serve(httptest.NewRecorder(), r, func(http.ResponseWriter, *http.Request) error { return nil })
			}
		}
		n := 0
		if test.want != "" {
			n = 1
		}
		if got := log.String(); strings.Count(got, "level=WARN") != n || !strings.Contains(got, test.want) {
			t.Errorf("%s: logged %q, want %d warning with %q", test.name, got, n, test.want)
		}
	}
}
