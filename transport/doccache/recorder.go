package doccache

import (
	"io"
	"net/http"
	"sync"
)

// recorder is the body of an answer on its way to the caller. It takes down what is read.
type recorder struct {
	io.ReadCloser
	length int64                         // declared; -1: not
	finish func(body []byte, how ending) // called once

	mu   sync.Mutex // Close may come while Read waits
	body []byte
	over bool
}

// ending is how a body has ended.
type ending int

const (
	broken   ending = iota // or it was not read to the end
	whole                  // it has arrived as it was sent
	tooLarge               // it has more than maxDocument bytes, not all of which were taken down
)

// firstGuess bounds what is allocated on the word of a Content-Length.
const firstGuess = 1 << 20

func newRecorder(resp *http.Response, finish func(body []byte, how ending)) *recorder {
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
	fits := n <= maxDocument-len(r.body)
	if fits {
		r.body = append(r.body, p[:n]...)
	}
	r.mu.Unlock()
	switch {
	case !fits:
		r.end(tooLarge)
	case err == io.EOF:
		r.end(whole)
	case err != nil:
		r.end(broken)
	}
	return n, err
}

// Close implements io.Closer. A caller who knows the length may not have waited for the
// end.
func (r *recorder) Close() error {
	if r.length >= 0 {
		r.end(whole)
	} else {
		r.end(broken)
	}
	return r.ReadCloser.Close()
}

// end hands over what was taken down. What is not as long as declared is not whole.
func (r *recorder) end(how ending) {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	r.over = true
	body := r.body
	r.body = nil
	r.mu.Unlock()
	if how == whole && r.length >= 0 && r.length != int64(len(body)) {
		how = broken
	}
	r.finish(body, how)
}

// maxDropped is how much of a body that nobody wants is read, so that its connection can
// be used again.
const maxDropped = 4 << 10

func drop(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxDropped)
	_ = resp.Body.Close() // nothing of it was wanted
}
