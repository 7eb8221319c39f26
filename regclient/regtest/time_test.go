package regtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// elapsed runs f in a bubble and returns how long it has taken there.
func elapsed(t *testing.T, f func(t *testing.T, reg *regtest.Registry)) (d time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		reg, _ := start()
		begin := time.Now()
		f(t, reg)
		d = time.Since(begin)
	})
	return d
}

func TestTime(t *testing.T) {
	t.Parallel()
	const size = 1000
	big := regtest.Provider{Address: "acme/big", Zip: make([]byte, size)}
	const bigURL = base + "/releases/registry.example.com/acme/big/1.0.0/terraform-provider-big_1.0.0_linux_amd64.zip"
	tests := map[string]struct {
		fault regtest.Fault
		want  time.Duration
	}{
		"nothing":        {regtest.Fault{}, 0},
		"delay":          {regtest.Fault{Delay: time.Hour}, time.Hour},
		"pause":          {regtest.Fault{Break: regtest.Stall, After: 10, Pause: time.Minute}, time.Minute},
		"pause at once":  {regtest.Fault{Break: regtest.Stall, Pause: time.Minute}, time.Minute},
		"pause too late": {regtest.Fault{Break: regtest.Stall, After: size, Pause: time.Minute}, 0},
		"rate":           {regtest.Fault{Rate: 10}, 100 * time.Second},
		"rate of one":    {regtest.Fault{Rate: 1}, 1000 * time.Second},
		"rate and pause": {regtest.Fault{Rate: 100, Break: regtest.Stall, After: 1, Pause: time.Minute}, 70 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
				reg.AddProvider(big)
				reg.AddFault(test.fault)
				if a := get(t, reg.Client(), bigURL); a.err != nil || len(a.body) != size {
					t.Errorf("%s, %v, %d bytes", a.Status, a.err, len(a.body))
				}
			})
			if got != test.want {
				t.Errorf("took %v, want %v", got, test.want)
			}
		})
	}
}

// TestLatency: the time that is taken tells how deep the requests are nested.
func TestLatency(t *testing.T) {
	t.Parallel()
	got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
		reg.Latency = time.Second
		reg.AddFault(regtest.Fault{Kind: regtest.Versions, Hops: 2})
		object(t, reg.Client(), listURL)
		done := make(chan bool)
		for range 10 {
			go func() {
				_, err := try(t.Context(), reg.Client(), "GET", metadataURL("1.0.0", "linux_amd64"))
				done <- err == nil
			}()
		}
		for range 10 {
			if !<-done {
				t.Error("a request has failed")
			}
		}
	})
	if got != 4*time.Second {
		t.Errorf("took %v, want 4s", got)
	}
}

// TestCancel: a request ends with its context wherever it waits, and so does
// the body.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"before the answer": {Delay: time.Hour},
		"at the start":      {Break: regtest.Stall},
		"in the body":       {Break: regtest.Stall, After: 10},
		"in a pause":        {Break: regtest.Stall, After: 10, Pause: time.Hour},
		"slow":              {Rate: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
				reg.AddFault(fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				a, err := try(ctx, reg.Client(), "GET", listURL)
				if err == nil {
					err = a.err
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error: %v", err)
				}
				ctx, cancelCause := context.WithCancelCause(t.Context())
				cancelCause(io.ErrNoProgress)
				if _, err := try(ctx, reg.Client(), "GET", listURL); !errors.Is(err, io.ErrNoProgress) {
					t.Errorf("error: %v", err)
				}
			})
			if got != time.Minute {
				t.Errorf("took %v", got)
			}
		})
	}
}

// TestSentSlowly: what the client did not wait for was not sent.
func TestSentSlowly(t *testing.T) {
	t.Parallel()
	elapsed(t, func(t *testing.T, reg *regtest.Registry) {
		reg.AddFault(regtest.Fault{Rate: 10})
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		a, err := try(ctx, reg.Client(), "GET", listURL)
		if err != nil {
			t.Fatal(err)
		}
		if sent := reg.Requests()[0].Sent; len(a.body) != 20 || sent != 20 {
			t.Errorf("%d bytes were read, and %d sent, want 20", len(a.body), sent)
		}
	})
}

// TestClientTimeout: the timeout of the client covers the body.
func TestClientTimeout(t *testing.T) {
	t.Parallel()
	got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
		reg.AddFault(regtest.Fault{Break: regtest.Stall, After: 10})
		client := reg.Client()
		client.Timeout = 5 * time.Second
		if a := get(t, client, listURL); a.err == nil {
			t.Error("the body was read")
		}
	})
	if got != 5*time.Second {
		t.Errorf("took %v", got)
	}
}

// TestClose: closing a body ends a read of it.
func TestClose(t *testing.T) {
	t.Parallel()
	elapsed(t, func(t *testing.T, reg *regtest.Registry) {
		reg.AddFault(regtest.Fault{Break: regtest.Stall})
		resp, err := reg.Client().Get(listURL)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			_, err := io.ReadAll(resp.Body)
			failed <- err
		}()
		synctest.Wait()
		resp.Body.Close()
		resp.Body.Close()
		if err := <-failed; err != http.ErrBodyReadAfterClose {
			t.Errorf("error: %v", err)
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
			t.Errorf("error: %v", err)
		}
	})
}
