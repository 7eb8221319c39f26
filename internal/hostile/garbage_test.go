package hostile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestGarbage: invalid checksums, signatures, archives and pages are errors that can be printed,
// and leave no files.
func TestGarbage(t *testing.T) {
	t.Parallel()
	garbage := map[string]string{
		"empty":    "",
		"a zero":   "\x00",
		"terminal": nasty,
		"a page":   "<!doctype html><title>" + nasty + "</title>",
		"JSON":     `{"errors":["` + "no" + `"]}`,
		"sums":     strings.Repeat("0", 64) + "  " + nasty + "\n",
		"a zip":    "PK\x03\x04" + nasty,
		"a gzip":   "\x1f\x8b\x08" + nasty,
		"an xz":    "\xfd7zXZ\x00" + nasty,
		"armour":   "-----BEGIN PGP SIGNATURE-----\n" + nasty + "\n-----END PGP SIGNATURE-----\n",
		"long":     strings.Repeat("x", 100_000),
		"lines":    strings.Repeat("\n", 60_000),
		"a tag":    `<meta name="terraform-get" content="` + strings.ReplaceAll(nasty, "\x00", "") + `">`,
	}
	for verb, kinds := range map[string][]regtest.Kind{
		"find and download": {regtest.Sums, regtest.Signature, regtest.Archive},
		"through a mirror":  {regtest.Archive},
		"module":            {regtest.ModulePage, regtest.ModulePackage},
	} {
		for _, kind := range kinds {
			for name, body := range garbage {
				t.Run(verb+"/"+kind.String()+"/"+name, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					w := newWorld(t)
					w.reg.AddFault(regtest.Fault{Kind: kind, Raw: []byte(body)})
					err := verbs[verb](t.Context(), w, dir)
					typed(t, err)
					left, readErr := os.ReadDir(dir)
					if readErr != nil || len(left) != 0 {
						t.Errorf("left over: %v, %v", left, readErr)
					}
					if n := w.count()[kind]; n != 1 {
						t.Errorf("%d requests", n)
					}
				})
			}
		}
	}
}
