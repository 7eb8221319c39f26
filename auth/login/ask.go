package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

// awaitCode opens the login page and returns the code in the redirect.
func (c *Client) awaitCode(ctx context.Context, f *flow, l *listener) (code string, err error) {
	page := f.pageURL()
	log(ctx, c.web().Logger, "login: waiting for the browser", slog.String("host", l.host.String()), slog.String("redirect", l.redirect()))
	opened := make(chan error, 1) // Open can return after the login
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
			if err == nil || l.answered.Load() {
				opened = nil // wait for the redirect
				continue
			}
			page, _ := url.Parse(f.pageURL()) // is always valid
			return "", fmt.Errorf("opening the login page: %w", httpx.Scrub(err, page, f.state, f.verifier))
		case <-timeout:
			return "", fmt.Errorf("no redirect of the browser within %v%s: %w", limit, l.otherAnswers(), os.ErrDeadlineExceeded)
		case <-ctx.Done():
			return "", fmt.Errorf("while waiting for the browser%s: %w", l.otherAnswers(), fault.Ended(ctx))
		}
	}
}

// code returns the code in a redirect.
func (f *flow) code(query url.Values) (string, error) {
	if query.Get("error") != "" {
		return "", f.refused(query.Get("error"), query.Get("error_description"), query.Get("code"))
	}
	if query.Get("code") == "" {
		return "", errors.New("the redirect of the browser has neither a code nor an error")
	}
	return query.Get("code"), nil
}

// refused returns the error of the identity server, without secrets.
func (f *flow) refused(code, description, hidden string) error {
	return &RefusedError{
		Code:        httpx.Mask(code, 60, f.tokenURL, f.state, f.verifier, hidden),
		Description: httpx.Mask(description, 300, f.tokenURL, f.state, f.verifier, hidden),
	}
}
