package addrs_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
)

func TestParsePlatform(t *testing.T) {
	t.Parallel()
	w32 := strings.Repeat("a", 32)
	for _, s := range []string{
		"linux_amd64", "darwin_arm64", "windows_386", "freebsd_arm", "linux_s390x", "plan9_armv7",
		"Linux_AMD64", w32 + "_" + w32, "linux_riscv64", "openbsd_amd64", "netbsd_amd64", "solaris_amd64", "linux_ppc64le",
	} {
		p, err := addrs.ParsePlatform(s)
		if err != nil || p.String() != s {
			t.Errorf("ParsePlatform(%q) = %q, %v", s, p, err)
		}
		if again, err := addrs.NewPlatform(p.OS(), p.Arch()); again != p {
			t.Errorf("NewPlatform of the parts of %q = %q, %v", s, again, err)
		}
		checkText(t, p)
	}
	for _, s := range []string{
		"", "_", "linux", "linux_", "_amd64", "linux_amd64_x", "linux__amd64", "linux amd64", " linux_amd64",
		"linux_amd64\n", "linux_../x", ".._x", "linux_amd64/x", `linux_a\b`, "linux-amd64", "linux_ämd64",
		"linux_\x00", w32 + "a_b", "b_" + w32 + "a",
	} {
		p, err := addrs.ParsePlatform(s)
		checkRefused(t, err, "platform", s, "")
		if !p.IsZero() {
			t.Errorf("ParsePlatform(%q) = %q", s, p)
		}
	}
	_, err := addrs.NewPlatform("linux_x", "amd64")
	checkRefused(t, err, "platform", "linux_x_amd64", "operating system")
	_, err = addrs.NewPlatform("linux", "")
	checkRefused(t, err, "platform", "linux_", "architecture")
}

func TestPlatform(t *testing.T) {
	t.Parallel()
	if p := addrs.CurrentPlatform(); p.OS() != runtime.GOOS || p.Arch() != runtime.GOARCH {
		t.Errorf("CurrentPlatform() = %q, want %s_%s", p, runtime.GOOS, runtime.GOARCH)
	}
	sorted := []addrs.Platform{{}}
	for _, s := range []string{"darwin_amd64", "darwin_arm64", "linux_386", "linux_amd64"} {
		sorted = append(sorted, addrs.MustParsePlatform(s))
	}
	checkOrder(t, sorted, addrs.Platform.Compare)
}
