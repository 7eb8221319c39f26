package doccache

import (
	"net/http"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// ErrOffline: the answer is not in the cache, which must not ask for it. It is ErrOffline of
// package provider. The clients of this module do not repeat such a request.
var ErrOffline = fault.ErrOffline

// OfflineError is the error of a request that [Transport.Offline] keeps from being made.
// It wraps [ErrOffline].
type OfflineError struct {
	Method string // of the request
	URL    string // of the request, without query and user information
}

// Error tells what is lacking, but not method and URL, which an [http.Client] puts before the
// error of its transport.
func (e *OfflineError) Error() string {
	return ErrOffline.Error() + ", and the answer is not in the cache"
}

// Unwrap returns [ErrOffline].
func (e *OfflineError) Unwrap() error { return ErrOffline }

func offline(req *http.Request) error {
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	return &OfflineError{Method: weburl.Clean(method, 20), URL: weburl.Redact(req.URL)}
}
