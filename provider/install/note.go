package install

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/tofureg/tofureg/verify"
)

// note is what somebody who has installed a package leaves for those who wait for the
// same one. A directory alone does not tell which archive it was unpacked from, so without
// a note each of them would download it again.
//
// A note proves nothing: whoever can write to the directory can write one. It is believed
// only by a caller that began before it was written, and on Unix only by the user who has
// written it: what others say of an archive must not get into a lock file.
type note struct {
	Size   int64       `json:"size"`   // of the archive
	ZH     verify.Hash `json:"zh"`     // of the archive
	Packed verify.Hash `json:"packed"` // its h1
	Tree   verify.Hash `json:"tree"`   // the h1 of the directory
	Once   string      `json:"once"`   // makes it another one each time
}

func (n *note) hashes() []verify.Hash { return []verify.Hash{n.ZH, n.Packed, n.Tree} }

const maxNote = 4 << 10

func (s *spot) noteName() string {
	sum := sha256.Sum256([]byte(s.name))
	return private + "/notes/" + hex.EncodeToString(sum[:16])
}

// readNote returns what is there, whatever it is; nil if that is nothing, or not the
// user's own.
func (s *spot) readNote() []byte {
	f, err := openFile(s.root, s.noteName())
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !own(info) {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxNote))
	return data
}

// news returns the note if it has been written since it was as before.
func (s *spot) news(before []byte) *note {
	data := s.readNote()
	if len(data) == 0 || bytes.Equal(data, before) {
		return nil
	}
	var n *note
	if json.Unmarshal(data, &n) != nil || n == nil || n.Size <= 0 ||
		n.ZH.Scheme() != verify.SchemeZH || n.Packed.Scheme() != verify.SchemeH1 || n.Tree.Scheme() != verify.SchemeH1 {
		return nil
	}
	return n
}

// leave writes a note, for those who wait for the lock that the caller has. It keeps its
// file and is not synced: it is worth nothing after a crash.
func (s *spot) leave(n note) error {
	n.Once = rand.Text()
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if _, err := s.mkdir(private + "/notes"); err != nil {
		return err
	}
	if s.readNote() == nil {
		if err := s.forget(); err != nil { // else it stays the file of another user
			return err
		}
	}
	return s.root.WriteFile(s.noteName(), data, 0o644)
}

// forget removes the note.
func (s *spot) forget() error { return notExistIsNil(s.root.Remove(s.noteName())) }
