// Package webserve has what the servers share: limits for each client, deadlines of writes, access, documents and
// errors.
package webserve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/verify"
)

// DefaultParallel is used if the field Parallel of a handler is not set.
const DefaultParallel = 16

// The shares of all clients and of each client, in multiples of Parallel.
const (
	forAll  = 16
	forEach = 4
)

// The bytes of documents that all clients, and each client, have not read yet.
const (
	waitingForAll  = 128 << 20
	waitingForEach = 16 << 20
)

// patience is how long a request waits for the share of its client. The CLI waits 10 seconds.
const patience = 5 * time.Second

// Stall is how long a client may read nothing of an answer.
const Stall = time.Minute

// Config has the fields of handlers, whose documentation describes them.
type Config struct {
	Name      string // in log records
	Parallel  int
	Client    func(*http.Request) string
	Logger    *slog.Logger
	Access    func(context.Context, access.Entry)
	Authorize func(*http.Request) error
	Secret    []byte

	// HideHost leaves the host of addresses out of texts for clients: they know the one of the server.
	HideHost bool
}

// Server answers the requests of a handler. Create it with New.
type Server struct {
	Guard *Guard

	config    Config
	client    func(*http.Request) string
	forwarded sync.Once // logs that Client is missing

	documents, archives, waiting *flight.Shares[string]

	// encoding limits the documents that are encoded at the same time, to one for each core. Package json
	// needs several times the size of a document, and keeps its buffers for the next one.
	encoding *semaphore.Weighted
}

// New returns a Server, and logs what is missing in c.
func New(c Config) *Server {
	n := int64(cmp.Or(max(c.Parallel, 0), DefaultParallel))
	s := &Server{
		Guard: NewGuard(c.Authorize, c.Secret), config: c, client: c.Client,
		documents: flight.NewShares[string](forAll*n, forEach*n),
		archives:  flight.NewShares[string](forAll*n, forEach*n),
		waiting:   flight.NewShares[string](waitingForAll, waitingForEach),
		encoding:  semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
	}
	if s.client == nil {
		s.client = network
	}
	if c.Authorize != nil && len(c.Secret) == 0 {
		s.warn("Authorize is set without Secret: signed URLs do not work after a restart, or at another replica")
	}
	return s
}

func (s *Server) warn(text string) {
	if s.config.Logger != nil {
		s.config.Logger.Warn(s.config.Name + ": " + text)
	}
}

// checkClient logs once that a proxy states the client of a request, but nothing reads it. Then all clients
// have one share.
func (s *Server) checkClient(r *http.Request) {
	if s.config.Client != nil || len(r.Header["Forwarded"])+len(r.Header["X-Forwarded-For"]) == 0 {
		return
	}
	s.forwarded.Do(func() {
		s.warn("requests come through a proxy, but Client is not set: all clients of the proxy together have the share of one client")
	})
}

// network returns the IPv4 address of the client, or its IPv6 network of 64 bits: a client can use all
// addresses in it.
func network(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	prefix, _ := addr.Prefix(64) // fails for more than 128 bits
	return prefix.String()
}

var (
	// ErrPath means that nothing has this path. Each document and each archive has one path.
	ErrPath = errors.New("nothing is served at this path")
	// ErrBusy means that the client, or all clients together, have their share already.
	ErrBusy = errors.New("too many requests at the same time; try again later")
	// ErrConfig means that a field of the handler has an invalid value.
	ErrConfig = errors.New("the server is not configured correctly")
)

// Serve calls answer for GET and HEAD, with a response that has deadlines, and sends its error.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, answer func(http.ResponseWriter, *http.Request) error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		WriteError(w, http.StatusMethodNotAllowed, "only GET and HEAD are supported")
		return
	}
	s.checkClient(r)
	out := &response{ResponseWriter: w, control: http.NewResponseController(w)}
	if s.config.Access != nil {
		start := time.Now()
		r = r.WithContext(context.WithValue(r.Context(), resultKey{}, &out.result))
		out.entry.Aborted = true // unless it ends below
		defer func() {
			if out.entry.Kind != "" {
				out.entry.Duration, out.entry.Cache = time.Since(start), out.result.value()
				if r.Method == http.MethodHead {
					out.entry.Bytes = 0
				}
				s.config.Access(r.Context(), out.entry)
			}
		}()
	}
	err := ErrPath
	if r.URL.RawPath == "" { // otherwise it has needless escapes, and is a second name of something
		err = answer(out, r)
	}
	if err != nil {
		s.Fail(out, r, err)
	}
	out.limit() // for what is still in buffers
	out.entry.Aborted = out.failed
}

// response is a response whose writes fail if they take longer than Stall. Between them there is no
// deadline, because the source may be slow.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	entry   access.Entry
	failed  bool // whether a write has failed
	result  result
}

// About says what a request is about, after it was authorized.
func About(w http.ResponseWriter, e access.Entry) {
	if out, ok := w.(described); ok {
		sent := out.about()
		e.Status, e.Bytes, e.Aborted = sent.Status, sent.Bytes, sent.Aborted
		*sent = e
	}
}

// described is a [response].
type described interface{ about() *access.Entry }

func (w *response) about() *access.Entry { return &w.entry }

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	if w.entry.Status < 200 { // it may follow a status that is only informative
		w.entry.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// limit sets the deadline, if w has any: some writers in tests have none.
func (w *response) limit() { _ = w.control.SetWriteDeadline(time.Now().Add(Stall)) }

func (w *response) unlimit() { _ = w.control.SetWriteDeadline(time.Time{}) }

func (w *response) Write(data []byte) (int, error) {
	w.limit()
	defer w.unlimit()
	if w.entry.Status < 200 {
		w.entry.Status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(data)
	w.entry.Bytes += int64(n)
	w.failed = w.failed || err != nil
	return n, err
}

// FlushError is for [http.ResponseController.Flush].
func (w *response) FlushError() error {
	w.limit()
	defer w.unlimit()
	return w.control.Flush()
}

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Document sends the document that find returns, with an entity tag.
func (s *Server) Document(w http.ResponseWriter, r *http.Request, contentType string, find func(context.Context) ([]byte, error)) error {
	leave, err := s.enter(r, s.documents)
	if err != nil {
		return err
	}
	defer leave()
	body, err := find(r.Context())
	if err != nil {
		return err
	}
	read, ok := s.waiting.TryAcquire(s.client(r), int64(cap(body)))
	if !ok {
		return ErrBusy
	}
	defer read()
	sum := sha256.Sum256(body)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Etag", `"`+hex.EncodeToString(sum[:16])+`"`)
	http.ServeContent(w, OneRange(r), "", time.Time{}, bytes.NewReader(body))
	return nil
}

// Encode returns the JSON of what document returns, indented unless indent is "", in a buffer of its size.
func (s *Server) Encode(ctx context.Context, document func() any, indent string) ([]byte, error) {
	if s.encoding.Acquire(ctx, 1) != nil {
		return nil, fault.Ended(ctx)
	}
	defer s.encoding.Release(1)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(document())
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// EnterArchive waits for the share of archives of the client. The caller must call leave.
func (s *Server) EnterArchive(r *http.Request) (leave func(), err error) {
	return s.enter(r, s.archives)
}

func (s *Server) enter(r *http.Request, shares *flight.Shares[string]) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if leave, err = shares.Acquire(ctx, s.client(r), 1); err != nil && r.Context().Err() == nil {
		err = ErrBusy
	}
	return leave, err
}

// OneRange returns r without its Range header if that requests several ranges. Their answer can be
// much longer than the file, and [http.ServeContent] starts a goroutine for it that may outlive the
// request.
func OneRange(r *http.Request) *http.Request {
	if strings.Contains(strings.Join(r.Header.Values("Range"), ","), ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	return r
}

// ArchiveHeader sets the header of an archive: its entity tag, without which it has no ranges, and
// its size, if it is known. It reports whether the client has the archive already; then it has
// answered.
func ArchiveHeader(w http.ResponseWriter, r *http.Request, contentType, tag string, size int64) (answered bool) {
	if tag != "" {
		w.Header().Set("Etag", tag)
		w.Header().Set("Accept-Ranges", "bytes")
		if hasTag(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	w.Header().Set("Content-Type", contentType)
	if r.Method != http.MethodHead {
		return false
	}
	// The CLI sends HEAD before each download of a mirror. Fetching the archive for its size would
	// fetch it twice.
	if size > 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	w.WriteHeader(http.StatusOK)
	return true
}

// SendArchive sends an archive, or the part that r requests if body is an [io.Seeker]. Reading it fails before the last byte if
// it is refused, so a part is sent after its last byte was read. If reading fails after that, SendArchive aborts the
// connection, so that the client notices. When it returns, the client has everything.
func (s *Server) SendArchive(w http.ResponseWriter, r *http.Request, body io.Reader, size int64) error {
	sent := &sent{Reader: body}
	if file, ok := body.(io.ReadSeeker); ok {
		r = OneRange(r)
		if r.Header.Get("Range") != "" {
			if err := readLast(file); err != nil {
				return err
			}
		}
		http.ServeContent(w, r, "", time.Time{}, struct {
			io.Reader
			io.Seeker
		}{sent, file})
	} else {
		if size > 0 {
			w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		}
		_, _ = io.Copy(w, sent) // sent has the error of the source, and the client has left otherwise
	}
	if sent.err != nil {
		if s.config.Logger != nil && r.Context().Err() == nil {
			s.config.Logger.WarnContext(r.Context(), s.config.Name+" transfer aborted", "path", r.URL.Path, "error", sent.err)
		}
		panic(http.ErrAbortHandler)
	}
	http.NewResponseController(w).Flush() // an error means that the client has left
	return nil
}

// readLast reads the last byte, and goes back to the start.
func readLast(s io.ReadSeeker) error {
	size, err := s.Seek(0, io.SeekEnd)
	if size > 0 && err == nil {
		if _, err = s.Seek(size-1, io.SeekStart); err == nil {
			_, err = io.ReadFull(s, make([]byte, 1))
		}
	}
	if err == nil {
		_, err = s.Seek(0, io.SeekStart)
	}
	return err
}

// sent is what is sent, and why reading it has failed.
type sent struct {
	io.Reader
	err error
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// hasTag reports whether one of the lists contains the entity tag.
func hasTag(lists []string, tag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// inconsistentError means that a source does not have something that it lists, which is its fault.
type inconsistentError struct{ err error }

func (e *inconsistentError) Error() string { return e.err.Error() }
func (e *inconsistentError) Unwrap() error { return e.err }

// AsInconsistent marks err as a fault of the source if it means that something is missing.
func AsInconsistent(err error) error {
	if errors.Is(err, failure.ErrNotFound) {
		return &inconsistentError{err}
	}
	return err
}

// Fail sends an error that was returned before anything was sent, and logs it.
func (s *Server) Fail(w http.ResponseWriter, r *http.Request, err error) {
	for _, name := range []string{"Etag", "Accept-Ranges", "Content-Length"} {
		w.Header().Del(name) // headers of an archive are set before it is opened
	}
	_, broken := errors.AsType[*inconsistentError](err)
	status, level := http.StatusBadGateway, slog.LevelWarn
	switch {
	case r.Context().Err() != nil:
		w.WriteHeader(http.StatusServiceUnavailable) // the client has left, or the server ends
		return
	case errors.Is(err, ErrBusy):
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", strconv.Itoa(int(patience/time.Second)))
	case errors.Is(err, ErrConfig):
		status = http.StatusInternalServerError
	case broken:
	case errors.Is(err, failure.ErrNotFound), errors.Is(err, provider.ErrUnpacked), errors.Is(err, ErrPath):
		status, level = http.StatusNotFound, slog.LevelDebug
	}
	if s.config.Logger != nil {
		s.config.Logger.Log(r.Context(), level, s.config.Name+" request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	text := describe(err)
	if subject := s.subject(w); subject != "" {
		text = subject + ": " + text
	}
	WriteError(w, status, text)
}

// subject returns what was requested, or "".
func (s *Server) subject(w http.ResponseWriter) string {
	out, ok := w.(described)
	if !ok {
		return ""
	}
	of := out.about()
	subject := of.Subject()
	if s.config.HideHost {
		subject = strings.TrimPrefix(subject, cmp.Or(of.Provider.Host(), of.Module.Host()).Display()+"/")
	}
	return subject
}

// describe returns a text for clients, without names and URLs of the source.
func describe(err error) string {
	if e, ok := errors.AsType[*provider.HeldError](err); ok {
		return e.Error()
	}
	for _, kind := range []error{
		ErrPath, ErrBusy, ErrConfig, provider.ErrNoPlatform, failure.ErrNoVersion, failure.ErrNotFound, failure.ErrUnauthorized,
		failure.ErrTooLarge, failure.ErrInsecure, provider.ErrUnpacked, verify.ErrUnsigned, verify.ErrUnchecked,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "the source did not give a usable answer"
}

// WriteError sends a JSON object with an error.
func WriteError(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string][]string{"errors": {text}}) // cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails if the client has left
}
