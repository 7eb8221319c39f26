package doccache

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
)

// store is the directory.
type store struct {
	dir    string
	secret []byte // of secretSize bytes

	mu      sync.Mutex
	counted bool  // whether bytes is known
	bytes   int64 // that the entries take
	since   int64 // of these, written here since they were counted
	busy    bool
}

// errNoRoom: what is larger than the whole cache may be.
var errNoRoom = errors.New("larger than the cache")

const (
	entrySuffix = ".doc"
	lockSuffix  = ".lock"

	// A name is the keyed hash of the URL and that of who asks, in hexadecimal.
	urlPart  = 20
	nameSize = urlPart + 32
)

// key names an entry.
type key string

func (k key) lockName() string { return string(k) + lockSuffix }
func (k key) file() string     { return string(k) + entrySuffix }

// openStore makes or opens the directory and reads the secret in it.
func openStore(ctx context.Context, dir string) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &store{dir: dir}
	err := s.readSecret()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) {
		err = s.makeSecret(ctx)
	}
	return s, err
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// sum is the keyed hash of a list of texts for one purpose.
func (s *store) sum(purpose string, list ...string) []byte {
	h := hmac.New(sha256.New, s.secret)
	for _, text := range append([]string{purpose}, list...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		_, _ = io.WriteString(h, text) // never fails
	}
	return h.Sum(nil)
}

// key returns the name of the entry for a request. Neither the URL nor a credential can
// be told from it.
func (s *store) key(req *http.Request) key {
	who := s.sum("request", append(target(req), identity(req)...)...)
	return key(s.urlKey(req) + hex.EncodeToString(who)[:nameSize-urlPart])
}

func (s *store) urlKey(req *http.Request) string {
	return hex.EncodeToString(s.sum("url", target(req)...))[:urlPart]
}

// varied is the keyed hash of the headers of req that the Vary header in h names; "" if it
// names none.
func (s *store) varied(req *http.Request, h http.Header) string {
	names := varyNames(h)
	if len(names) == 0 {
		return ""
	}
	var list []string
	for _, name := range names {
		list = append(list, name, strings.Join(req.Header.Values(name), ","))
	}
	return hex.EncodeToString(s.sum("vary", list...))
}

// seal puts the sum into a file, sealed compares it.
func (s *store) seal(k key, file []byte) { copy(file[len(magic):], s.fileSum(k, file)) }

func (s *store) sealed(k key, file []byte) bool {
	return len(file) >= fixed && hmac.Equal(file[len(magic):len(magic)+sumSize], s.fileSum(k, file))
}

func (s *store) fileSum(k key, file []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	_, _ = io.WriteString(h, "file\x00"+string(k)+"\x00")
	h.Write(file[len(magic)+sumSize:])
	return h.Sum(nil)
}

// touchAfter is how old the time of use of an entry may be: to renew it costs a write.
const touchAfter = time.Hour

// read returns an entry. What is not as we wrote it is removed.
func (s *store) read(k key) (*entry, error) {
	path := s.path(k.file())
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	file, err := readRegular(path, info, maxFile)
	if err == nil && !s.sealed(k, file) {
		err = errDamaged
	}
	var e *entry
	if err == nil {
		e, err = decode(file)
	}
	if errors.Is(err, errDamaged) {
		s.remove(k)
	}
	if err != nil {
		return nil, err
	}
	if now := time.Now(); now.Sub(info.ModTime()).Abs() > touchAfter {
		_ = os.Chtimes(path, now, now) // not so in a directory that is only for reading
	}
	return e, nil
}

// readRegular reads a file of at most limit bytes that is neither a link nor a pipe. The
// error for one that is there and is not like that is errDamaged.
func readRegular(path string, info fs.FileInfo, limit int) ([]byte, error) {
	if !info.Mode().IsRegular() || info.Size() > int64(limit) {
		return nil, errDamaged
	}
	f, err := fsx.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) || now.Size() != info.Size() {
		return nil, fmt.Errorf("%s has been replaced just now: %w", path, fs.ErrNotExist)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	return data, nil
}

// write puts an entry in place, and returns how much it takes.
func (s *store) write(k key, e *entry, limit int64) (int64, error) {
	file, err := e.encode()
	if err != nil {
		return 0, err
	}
	size := taken(int64(len(file)))
	if size > limit {
		return 0, errNoRoom
	}
	s.seal(k, file)
	p, err := fsx.CreatePart(s.path(k.file()), 0o600)
	if err != nil {
		return 0, err
	}
	defer p.Discard()
	if _, err := p.Write(file); err != nil {
		return 0, err
	}
	// Not synced: what a power failure damages is fetched again.
	return size, p.Publish()
}

// remove removes an entry. One that cannot be removed stays, and is asked about as before.
func (s *store) remove(k key) { _ = os.Remove(s.path(k.file())) }

// removeURL removes all entries for the URL of req, whoever asked.
func (s *store) removeURL(req *http.Request) {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	prefix := s.urlKey(req)
	for _, n := range names {
		if isEntry(n.Name()) && strings.HasPrefix(n.Name(), prefix) {
			_ = os.Remove(s.path(n.Name()))
		}
	}
}

// isEntry reports whether a name is that of an entry.
func isEntry(name string) bool { return isOurs(name, entrySuffix) }

func isOurs(name, suffix string) bool {
	name, ok := strings.CutSuffix(name, suffix)
	return ok && len(name) == nameSize && strings.Trim(name, "0123456789abcdef") == ""
}
