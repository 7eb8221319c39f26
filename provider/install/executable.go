package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Executable returns the absolute path of the provider's program, as the CLI finds it:
// the first file, by name, that is called terraform-provider-TYPE with nothing behind it,
// or with something that starts with "_" or ".". Whether the system would run it is not
// checked.
//
// The error wraps ErrNoExecutable if there is none.
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
	return "", failed("find the executable of", p.String(), fmt.Errorf("%w: nothing like terraform-provider-%s in %s", ErrNoExecutable, p.Provider.Type(), p.Dir))
}

// isProgram reports whether a file of a package, with this slash-separated name, may be the
// program.
func isProgram(name, typ string) bool {
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+typ)
	return ok && (rest == "" || rest[0] == '_' || rest[0] == '.') && !strings.Contains(rest, "/")
}
