package login_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestOpenFails: an error ends the login, and does not show the address of the page.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	errNone := errors.New("no browser")
	c := client(registry(regtest.Login{}))
	var page string
	c.Open = func(u string) error {
		page = u
		return errors.Join(errNone, &url.Error{Op: "open", URL: u, Err: errors.New(u)})
	}
	_, err := c.Login(t.Context(), host)
	wantError(t, err)
	if !errors.Is(err, errNone) || strings.Contains(err.Error(), query(t, page).Get("state")) || !strings.Contains(err.Error(), "no browser") {
		t.Errorf("%v", err)
	}
}

// TestOpenTakesItsTime: the login does not wait for an Open that returns when the browser
// is closed, and what it says then does not count.
func TestOpenTakesItsTime(t *testing.T) {
	t.Parallel()
	reg, release := registry(regtest.Login{}), make(chan struct{})
	c := client(reg)
	c.Open = func(page string) error {
		_ = reg.Browse(page)
		<-release
		return errors.New("too late")
	}
	_, err := c.Login(t.Context(), host)
	close(release)
	if err != nil {
		t.Error(err)
	}
}

// TestNobodyAnswers: the wait ends with Timeout or the context, and the error tells of
// answers to other logins.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	errCause := errors.New("the program ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	deadline, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stop()
	for name, test := range map[string]struct {
		ctx     context.Context
		timeout time.Duration
		is      []error
		text    string
	}{
		"timeout":  {t.Context(), time.Millisecond, []error{context.DeadlineExceeded}, "no answer came from the browser within 1ms"},
		"cancel":   {ctx, -1, []error{context.Canceled, errCause}, "the program ends"},
		"deadline": {deadline, 0, []error{context.DeadlineExceeded}, "deadline"},
	} {
		c := client(registry(regtest.Login{}))
		c.Timeout = test.timeout
		c.Open = func(page string) error {
			if name == "cancel" {
				asked := query(t, page)
				for _, state := range []string{"x", "y"} {
					if _, err := (visit{"GET", asked.Get("redirect_uri") + "?code=abc&state=" + state, ""}).pay(); err != nil {
						t.Error(err)
					}
				}
				cancel(errCause)
			}
			return nil
		}
		_, err := c.Login(test.ctx, host)
		wantError(t, err)
		for _, want := range test.is {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v is not %v", name, err, want)
			}
		}
		if !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "which were refused: 2)") != (name == "cancel") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExchangeIsCancelled: the context ends while the token endpoint thinks.
func TestExchangeIsCancelled(t *testing.T) {
	t.Parallel()
	errCause := errors.New("the program ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reg := registry(regtest.Login{})
	c := client(reg)
	c.Transport.HTTP.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPost {
			cancel(errCause)
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		return reg.RoundTrip(req)
	})
	_, err := c.Login(ctx, host)
	if wantError(t, err); !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) {
		t.Error(err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
