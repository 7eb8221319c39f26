package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

// ask has the user sent to the page of the host, and returns the code with which the
// browser comes back.
func (c *Client) ask(ctx context.Context, f *flow, l *listener) (code string, err error) {
	page := f.pageURL()
	log(ctx, c.web().Logger, "login: waiting for the browser", slog.String("host", l.host.String()), slog.String("redirect", l.redirect()))
	opened := make(chan error, 1) // so that Open may return when nobody waits any more
	go func() { opened <- c.Open(page) }()
	limit := cmp.Or(c.Timeout, defaultTimeout)
	var timeout <-chan time.Time
	if limit > 0 {
		timeout = time.After(limit)
	}
	for {
		select {
		case query := <-l.answers:
			return f.code(query)
		case err := <-opened:
			if err == nil || l.taken.Load() {
				opened = nil // what is still to come is the answer
				continue
			}
			return "", fmt.Errorf("opening the page of the host: %w", f.scrub(err))
		case <-timeout:
			return "", fmt.Errorf("no answer came from the browser within %v%s: %w", limit, l.seen(), context.DeadlineExceeded)
		case <-ctx.Done():
			return "", fmt.Errorf("while waiting for the browser%s: %w", l.seen(), fault.Ended(ctx))
		}
	}
}

// scrub makes an error of the caller's fit to be shown, which may repeat the address
// of the page.
func (f *flow) scrub(err error) error {
	u, _ := url.Parse(f.pageURL()) // it was made of a URL
	return httpx.Scrub(err, u, f.state, f.verifier)
}

// code returns the code in an answer.
func (f *flow) code(query url.Values) (string, error) {
	if query.Get("error") != "" {
		return "", f.refused(query.Get("error"), query.Get("error_description"), query.Get("code"))
	}
	if query.Get("code") == "" {
		return "", errors.New("the browser came back with neither a code nor an error")
	}
	return query.Get("code"), nil
}

// refused is the error of an identity server that says why.
func (f *flow) refused(code, description, hidden string) error {
	return &RefusedError{
		Code:        httpx.Mask(code, 60, f.tokenURL, f.state, f.verifier, hidden),
		Description: httpx.Mask(description, 300, f.tokenURL, f.state, f.verifier, hidden),
	}
}
