package install

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/tofureg/tofureg/verify/checksum"
)

// note is what somebody who has installed a package leaves for those who wait for the
// same one. A directory alone does not tell which archive it was unpacked from, so without
// a note each of them would download it again.
//
// What it says gets into reports and lock files, so it is believed only if it was written
// after the caller began, by this user, into a file that is open to nobody else: its writer
// is a process like this one then. What another user writes is not, and neither is what
// came with the directory, out of a backup or an archive. Where modes do not tell whose a
// file is, as on Windows, no note is believed, and those who wait download.
type note struct {
	Package string        `json:"package"` // HOST/NAMESPACE/TYPE/VERSION/OS_ARCH
	Size    int64         `json:"size"`    // of the archive
	ZH      checksum.Hash `json:"zh"`      // of the archive
	Packed  checksum.Hash `json:"packed"`  // its h1
	Tree    checksum.Hash `json:"tree"`    // the h1 of the directory
	Once    string        `json:"once"`    // makes it another one each time
}

const maxNote = 4 << 10

func (s *location) noteName() string {
	sum := sha256.Sum256([]byte(s.name))
	return private + "/notes/" + hex.EncodeToString(sum[:16])
}

// readNote returns the note that is there, of whatever kind; nil if there is none of this
// user.
func (s *location) readNote() []byte {
	named, err := s.root.Lstat(s.noteName())
	if err != nil {
		return nil
	}
	f, err := openFile(s.root, s.noteName())
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(named, info) || !onlyOurs(info) {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxNote))
	return data
}

// noteSince returns the note if it has been written since it was as before.
func (s *location) noteSince(before []byte) *note {
	data := s.readNote()
	if len(data) == 0 || bytes.Equal(data, before) {
		return nil
	}
	var n *note
	if json.Unmarshal(data, &n) != nil || n == nil || n.Package != s.name || n.Size <= 0 ||
		n.ZH.Scheme() != checksum.SchemeZH || n.Packed.Scheme() != checksum.SchemeH1 || n.Tree.Scheme() != checksum.SchemeH1 {
		return nil
	}
	return n
}

// leave writes a note, for those who wait for the lock that the caller has. It replaces
// what is there, and writes to nothing that others may have put there. It is not synced:
// it is worth nothing after a crash.
func (s *location) writeNote(st *staging, n note) error {
	n.Package, n.Once = s.name, rand.Text()
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := s.mkdir(private + "/notes"); err != nil {
		return err
	}
	made := st.name + "/note"
	f, err := s.root.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return s.root.Rename(made, s.noteName())
}

// forget removes the note.
func (s *location) removeNote() error { return notExistIsNil(s.root.Remove(s.noteName())) }
