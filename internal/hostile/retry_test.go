package hostile_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// transient are faults that may be temporary.
var transient = map[string]regtest.Fault{
	"429": {Status: 429}, "500": {Status: 500}, "502": {Status: 502}, "503": {Status: 503}, "504": {Status: 504}, "599": {Status: 599},
	"reset":                  {Drop: true},
	"no answer":              {Delay: time.Hour},
	"busy for two seconds":   {Status: 503, RetryAfter: "2"},
	"busy for a long time":   {Status: 429, RetryAfter: "86400"},
	"busy until a date":      {Status: 503, RetryAfter: "Sat, 01 Jan 2000 09:00:00 GMT"},
	"limit of requests":      {Status: 429, Header: http.Header{"X-Ratelimit-Reset": {"3"}}},
	"cut after no byte":      {Break: "cut"},
	"silent after no byte":   {Break: "stall"},
	"one byte, in documents": {Break: "cut", After: 1},
}

// permanent are faults that another attempt would find again.
var permanent = map[string]regtest.Fault{
	"400": {Status: 400}, "401": {Status: 401}, "402": {Status: 402}, "403": {Status: 403}, "404": {Status: 404}, "405": {Status: 405},
	"408": {Status: 408}, "410": {Status: 410}, "418": {Status: 418}, "451": {Status: 451}, "501": {Status: 501}, "300": {Status: 300},
	"304":                {Status: 304},
	"redirect, no place": {Status: 302},
	"loop":               {Hops: -1},
	"to http":            {Redirect: "http://" + elsewhere},
}

// TestAttempts: a transient fault is attempted as often as the client is configured, and no layer
// repeats the operation.
func TestAttempts(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for name, fault := range transient {
			if name == "one byte, in documents" && op.streams() {
				continue // a stream of which a byte has arrived has all attempts before it
			}
			for _, retries := range []int{-1, 0, 4} {
				t.Run(fmt.Sprintf("%s/%s/%d", op.name, name, retries), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						attempts := map[int]int{-1: 1, 0: 3, 4: 5}[retries]
						status := fault.Status
						if fault.Break != "" {
							status = http.StatusOK
						}
						f, n := fails(t, op, fault, retries)
						if want := (outcome{status, attempts, op.token != ""}); n[op.kind] != attempts || f != want {
							t.Errorf("%d requests, %+v in the error; want %+v", n[op.kind], f, want)
						}
						once(t, op, n, attempts)
					})
				})
			}
		}
	}
}

// TestNoSecondAttempt: a permanent fault is not repeated.
func TestNoSecondAttempt(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for name, fault := range permanent {
			if op.kind == regtest.Discovery && (fault.Status == 404 || fault.Status == 410) {
				continue // says that the host has no services
			}
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, n := fails(t, op, fault, 0)
					want := 1
					if fault.Hops < 0 {
						want += op.hops
					}
					if n[op.kind] != want || f.attempts != 1 || fault.Status != 0 && f.status != fault.Status {
						t.Errorf("%d requests, %+v in the error; want one attempt", n[op.kind], f)
					}
					once(t, op, n, 1)
				})
			})
		}
	}
}

// fails runs an operation that must fail, and returns its error and the number of requests of each
// kind.
func fails(t *testing.T, op operation, fault regtest.Fault, retries int) (outcome, map[regtest.Kind]int) {
	t.Helper()
	w := newWorld(t)
	w.retries = retries
	if retries > 0 {
		w.throttled()
	}
	run := op.ready(t, w)
	fault.Kind = op.kind
	w.reg.AddFault(fault)
	result, err := run(t.Context())
	if err == nil {
		t.Fatalf("no error, but %v", result)
	}
	return typed(t, err), w.count()
}

// once checks that other requests are not repeated. After a refusal, one list of versions may be
// requested.
func once(t *testing.T, op operation, n map[regtest.Kind]int, attempts int) {
	t.Helper()
	for kind, count := range n {
		if kind != op.kind && count > 1 {
			t.Errorf("%d requests for the %s, as the %s was asked for %d times", count, kind, op.kind, attempts)
		}
	}
}
