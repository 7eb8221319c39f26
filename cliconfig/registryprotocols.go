package cliconfig

import "time"

// requests are the settings of requests, with values as in a transport.Client: a negative
// number disables a feature, and a timeout of 0 is the default.
type requests struct {
	retries, archiveRetries int
	timeout                 time.Duration
}

// orDisabled returns n, or a negative number for 0.
func orDisabled(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// registryProtocols reads the block registry_protocols. If several files set an argument,
// the last file counts.
func (r *fileReader) registryProtocols(it item) {
	if it.value.kind != object || len(it.names) > 1 {
		r.errorf(it.at(), "\"registry_protocols\" must be a block without labels")
		return
	}
	if r.protocols != nil {
		r.errorf(it.at(), "a second block \"registry_protocols\"; the first one is in line %d", r.place(r.protocols.at()).Line)
		return
	}
	r.protocols = &it
	requests := &r.set.requests
	r.arguments("registry_protocols", it.value, readers{
		"retry_count": func(it item) {
			if n, ok := r.count(it); ok {
				requests.retries = orDisabled(n)
			}
		},
		"request_timeout_seconds": func(it item) {
			if n, ok := r.count(it); ok {
				requests.timeout = time.Duration(orDisabled(n)) * time.Second
			}
		},
	})
}
