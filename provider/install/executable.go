package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Executable returns the absolute path of the provider's program: the first file, by name, that is
// called terraform-provider-TYPE, possibly followed by "_" or "." and more. If there is none, the
// error wraps ErrNoExecutable.
func (p *Package) Executable() (string, error) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return "", failed("find the executable of", p.String(), err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && isProgram(e.Name(), p.Provider.Type()) {
			return filepath.Join(p.Dir, e.Name()), nil
		}
	}
	return "", failed("find the executable of", p.String(), fmt.Errorf("%w: %s has no file terraform-provider-%s", ErrNoExecutable, p.Dir, p.Provider.Type()))
}

// isProgram reports whether a file with this slash-separated name is a program of a provider of
// type typ.
func isProgram(name, typ string) bool {
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+typ)
	return ok && (rest == "" || rest[0] == '_' || rest[0] == '.') && !strings.Contains(rest, "/")
}
