package regcheck

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Limits of a check, as of clients.
const (
	maxDiscovery = 1 << 20
	maxDocument  = 16 << 20
	maxRedirects = 5
	maxFindings  = 20 // of one check and level
	maxText      = 1000
	maxArchive   = 1 << 30
	maxUnpacked  = 8 << 30
)

// checkTime is the default maximum duration of a check.
const checkTime = 30 * time.Second

var checkTimes = map[string]time.Duration{
	"archive": 5 * time.Minute, "mirror archive": 5 * time.Minute, "mirror version": 5 * time.Minute,
}

// reply is an answer with an unread body.
type reply struct {
	*http.Response
	url *url.URL        // that answered
	ctx context.Context // of the request
}

// failed returns the error of a failed request. It names the time limit if that was exceeded.
func failed(ctx context.Context, u *url.URL, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: %w", weburl.Redact(u), err)
}

// ask makes a GET request, with the token if with is set. Redirects to other servers do not
// get the token.
func (e *examiner) ask(u *url.URL, with bool, header ...string) (*reply, error) {
	if err := e.permitted(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(e.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: not a URL for a request", weburl.Redact(u))
	}
	req.Header.Set("Accept", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if with && e.o.Token != "" && u.Scheme == "https" {
		req.Header.Set("Authorization", "Bearer "+e.o.Token)
	}
	client := *cmp.Or(e.o.Client, http.DefaultClient)
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		next.Header.Del("Referer") // may have a secret in its query
		if next.URL.Scheme != u.Scheme || next.URL.Host != u.Host {
			next.Header.Del("Authorization")
		}
		return e.permitted(next.URL)
	}
	resp, err := client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL of the request, which failed adds
		}
		return nil, failed(e.ctx, u, err)
	}
	return &reply{resp, resp.Request.URL, e.ctx}, nil
}

// trusted reports whether u may get the token: the server, its services, or the mirror if
// there is no registry.
func (e *examiner) trusted(u *url.URL) bool {
	if e.mirrorAlone {
		return u.Host == e.mirror.dir.Host
	}
	if e.base == nil {
		return false
	}
	if u.Host == e.base.Host {
		return true
	}
	for _, s := range e.services {
		if s.Host == u.Host {
			return true
		}
	}
	return false
}

// wantStatus returns an error and closes the body if the status is not in want.
func (r *reply) wantStatus(want ...int) error {
	for _, s := range want {
		if r.StatusCode == s {
			return nil
		}
	}
	r.Body.Close()
	return fmt.Errorf("%s: status %d, want %d", weburl.Redact(r.url), r.StatusCode, want[0])
}

// read reads and closes the body.
func (r *reply) read(limit int64) ([]byte, error) {
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, failed(r.ctx, r.url, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: more than %d bytes", weburl.Redact(r.url), limit)
	}
	return data, nil
}

// isJSON reports whether the media type is JSON.
func (r *reply) isJSON() bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// document requests and decodes a JSON object. If lax is set, a wrong media type is only
// advice.
func (e *examiner) document(u *url.URL, limit int64, lax bool, v any) (*reply, error) {
	r, err := e.ask(u, e.trusted(u))
	if err != nil {
		return nil, err
	}
	if err := r.wantStatus(http.StatusOK); err != nil {
		return nil, err
	}
	data, err := r.read(limit)
	if err != nil {
		return nil, err
	}
	if !r.isJSON() {
		text := fmt.Sprintf("%s: media type %q, want application/json", weburl.Redact(r.url), r.Header.Get("Content-Type"))
		if !lax {
			return nil, errors.New(text)
		}
		e.note(Advice, text)
	}
	if err := decode(data, v); err != nil {
		return nil, fmt.Errorf("%s: %w", weburl.Redact(r.url), err)
	}
	return r, nil
}

// decode decodes exactly one JSON object.
func decode(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("invalid UTF-8")
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("not a JSON object")
	}
	err := jsondoc.Unmarshal(data, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the value of %s is of type %s, want %s", cmp.Or(strings.ToLower(e.Field), "the document"), e.Value, typeInJSON(e.Type))
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("invalid JSON: %w, at byte %d", e, e.Offset)
	}
	return err
}

// typeInJSON returns the JSON name of a type.
func typeInJSON(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	case reflect.Int64:
		return "number without a fraction"
	}
	return "object"
}

// resolve parses an https or http URL, which may be relative to base.
func resolve(base *url.URL, property, ref string) (*url.URL, error) {
	if ref == "" {
		return nil, fmt.Errorf("%s is missing", property)
	}
	u, err := base.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL", property)
	}
	if u.User != nil {
		return nil, fmt.Errorf("%s: %s has a user name", property, weburl.Redact(u))
	}
	if u.Scheme != "http" || u.Host == "" {
		err = overHTTPS(u)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	return u, nil
}

// fileURL resolves the URL of a file in the document at base. An http URL is reported, and the
// rest of the document is still checked.
func (e *examiner) fileURL(base *url.URL, property, ref string) (*url.URL, error) {
	u, err := resolve(base, property, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", weburl.Redact(base), err)
	}
	if err := e.permitted(u); err != nil {
		e.note(Failed, fmt.Sprintf("%s: %s: %v", weburl.Redact(base), property, err))
	}
	return u, nil
}

// permitted returns an error if u must not be requested.
func (e *examiner) permitted(u *url.URL) error {
	if e.o.AllowHTTP && u.Scheme == "http" && u.Host != "" {
		return nil
	}
	return overHTTPS(u)
}

func overHTTPS(u *url.URL) error {
	if u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s: not an https URL", weburl.Redact(u))
	}
	return nil
}
