package doccache

import (
	"io"
	"net/http"
	"sync"
)

// recorder is the body of an answer on its way to the caller. It takes down what is read.
type recorder struct {
	io.ReadCloser
	length int64                            // declared; -1: not
	finish func(body []byte, complete bool) // called once

	mu   sync.Mutex // Close may come while Read waits
	body []byte
	over bool
}

// firstGuess bounds what is allocated on the word of a Content-Length.
const firstGuess = 1 << 20

func newRecorder(resp *http.Response, finish func(body []byte, complete bool)) *recorder {
	r := &recorder{ReadCloser: resp.Body, length: resp.ContentLength, finish: finish}
	r.body = make([]byte, 0, min(max(r.length, 512), firstGuess))
	return r
}

// Read implements io.Reader.
func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return n, err
	}
	tooLarge := n > maxDocument-len(r.body)
	if !tooLarge {
		r.body = append(r.body, p[:n]...)
	}
	r.mu.Unlock()
	switch {
	case tooLarge:
		r.end(false)
	case err == io.EOF:
		r.end(true)
	case err != nil:
		r.end(false)
	}
	return n, err
}

// Close implements io.Closer. A caller who knows the length may not have waited for the
// end.
func (r *recorder) Close() error {
	r.end(r.length >= 0)
	return r.ReadCloser.Close()
}

// end hands over what was taken down.
func (r *recorder) end(complete bool) {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	r.over = true
	body := r.body
	r.body = nil
	r.mu.Unlock()
	r.finish(body, complete && (r.length < 0 || r.length == int64(len(body))))
}

// maxDropped is how much of a body that nobody wants is read, so that its connection can
// be used again.
const maxDropped = 4 << 10

func drop(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxDropped)
	_ = resp.Body.Close() // nothing of it was wanted
}
