package mirrordir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

func TestNameable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, goos string
		want       error
	}{
		{"example.com:8443/a/b", "linux", nil},
		{"example.com:8443/a/b", "darwin", nil},
		{"example.com:8443/a/b", "windows", fs.ErrInvalid},
		{`example.com/a\b`, "windows", fs.ErrInvalid},
		{"example.com/a/b", "windows", nil},
		{".tofureg/change.lock", "linux", fs.ErrInvalid},
		{".TOFUREG/change.lock", "darwin", fs.ErrInvalid},
		{".Tofureg/change.lock", "windows", fs.ErrInvalid},
		{".tofureg./change.lock", "windows", fs.ErrInvalid},
		{".tofureg . /change.lock", "windows", fs.ErrInvalid},
		{"example.com/.tofureg/b", "windows", nil},
	}
	for _, test := range tests {
		err := mirrordir.CheckFileName(test.name, test.goos)
		if !errors.Is(err, test.want) {
			t.Errorf("%s on %s: %v, want %v", test.name, test.goos, err, test.want)
		}
		if test.want != nil && strings.Contains(test.name, ":") && !strings.Contains(err.Error(), `"example.com:8443"`) {
			t.Errorf("%v does not name the host", err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, name, want string }{
		{"h.example/a/b", "h.example/a/b/terraform-provider-b_1.0.0_linux_amd64.zip", "terraform-provider-b_1.0.0_linux_amd64.zip"},
		{"bücher.example:8443/a/b", "bücher.example:8443/a/b/x 1.zip", "x%201.zip"},
		{"h/a/b", "h/a/b/x_1.0.0+m%41?#.zip", "x_1.0.0+m%2541%3F%23.zip"},
	}
	for _, test := range tests {
		got := mirrordir.EntryURL(test.name)
		if got != test.want {
			t.Errorf("from %s to %s: %q, want %q", test.from, test.name, got, test.want)
		}
		if back := mirrordir.Resolve(test.from, got); back != test.name {
			t.Errorf("%q resolves to %q, want %q", got, back, test.name)
		}
		// Resolve the URL like a client.
		base := &url.URL{Scheme: "https", Host: "mirror.example.com", Path: "/p/" + test.from + "/1.0.0.json"}
		u, err := base.Parse(got)
		if err != nil || u.Path != path.Join("/p", test.name) {
			t.Errorf("%q leads to %v, %v", got, u, err)
		}
	}
	for _, ref := range []string{"", "/x.zip", "//example.com/x.zip", "https://example.com/x.zip", "../../../../x.zip", "x.zip?y", "x/", "%zz", "a:b", "../../.."} {
		if got := mirrordir.Resolve("h/a/b", ref); got != "" {
			t.Errorf("%q resolves to %q", ref, got)
		}
	}
}

func FuzzParseArchive(f *testing.F) {
	for _, name := range []string{
		"terraform-provider-alpha_1.0.0_linux_amd64.zip", "TERRAFORM-PROVIDER-Alpha_1_a_b_c.ZIP",
		"terraform-provider-.zip", "terraform-provider-alpha____.zip", "terraform-provider-zip", "",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		version, platform, problem := mirrordir.ParseArchive(alpha, name)
		if problem != "" || version == "" {
			if version != "" || platform != "" {
				t.Errorf("%q: %q, %q with the problem %q", name, version, platform, problem)
			}
			return
		}
		again := "terraform-provider-alpha_" + version + "_" + platform + ".zip"
		if v, p, _ := mirrordir.ParseArchive(alpha, again); v != version || p != platform {
			t.Errorf("%q is %s %s, %q is %s %s", name, version, platform, again, v, p)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, ref := range []string{"x.zip", "../../../h/x", "%2e%2e/x", "..%2f..%2f..%2f..%2fx", `a\b`, "a//b"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if name := mirrordir.Resolve("h/a/b", ref); name != "" && !fs.ValidPath(name) {
			t.Errorf("%q leads out of the mirror: %q", ref, name)
		}
	})
}

// FuzzRender renders documents from documents of other programs. Rendering the result again changes
// nothing.
func FuzzRender(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"versions":{"1.0.0":{},"x":null},"removing":{"2.0.0":{}}}`, `{"versions":[]}`, `{"archives":null}`,
		`{"archives":{"linux_amd64":{"url":"x.zip","hashes":["h1:","h9:x"]},"x":null}}`, `{"archives":{"a_b":{"url":""}}}`, `[`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		for name, render := range map[string]func([]byte) ([]byte, error){
			"index":   mirrordir.RenderIndex,
			"version": func(old []byte) ([]byte, error) { return mirrordir.RenderVersion("h/a/b", old) },
		} {
			text, err := render(old)
			if err != nil || text == nil {
				continue
			}
			if again, err := render(text); err != nil || !bytes.Equal(again, text) {
				t.Errorf("%s of %q is\n%s\nand made again\n%s, %v", name, old, text, again, err)
			}
		}
	})
}
