package auth

import (
	"github.com/tofureg/tofureg/disco/svchost"
)

// A Netrc has the user names and passwords of web servers, in the format that curl and git
// read from ~/.netrc (_netrc on Windows):
//
//	machine modules.example.com login alice password "two words"
//	machine modules.example.com:8443
//	    login alice
//	    password secret  # a comment
//
// The CLI uses these passwords only for archives of modules: [Netrc.Lookup] suits
// ModuleCredentials of [github.com/tofureg/tofureg/regclient.Client]. Other callers must
// send a password only over https, only to the host and port of the lookup, also after
// redirects, and not with a URL that has user information or a signature.
//
// The zero Netrc is empty. A Netrc is safe for concurrent use. Printing it shows no
// content.
//
// Keywords are machine, login, password or passwd, port, protocol, account, macdef and
// default, in any case. Values with spaces need double quotes; in them, a backslash escapes
// \", \\, \n, \r and \t.
//
// [svchost.FromWire] parses the host. The port is 443 unless stated. The first entry for a
// host counts. Macros, the entry default, and entries without a password, with an invalid
// host or another protocol than https are ignored.
type Netrc struct {
	// A function, so that its content is not printed.
	lookup func(svchost.Hostname) (login, bool)
}

// A login is the entry of a host.
type login struct {
	user     string
	password Password
}

// maxNetrc is the maximum size of the file in bytes.
const maxNetrc = 1 << 20

// LoadNetrc reads a netrc file. A missing file is empty. The error can be a [*SyntaxError],
// or wrap [ErrTooLarge] for more than 1 MiB.
func LoadNetrc(path string) (*Netrc, error) {
	text, err := readFile(path, maxNetrc)
	if err != nil {
		return nil, err
	}
	n, err := ParseNetrc(text)
	return n, withPath(path, err)
}

// ParseNetrc reads the text of a netrc file. The error is a [*SyntaxError].
func ParseNetrc(text []byte) (*Netrc, error) {
	p := &netrcParser{text: text, logins: map[svchost.Hostname]login{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return &Netrc{lookup: func(host svchost.Hostname) (login, bool) {
		found, ok := p.logins[host]
		return found, ok
	}}, nil
}

// Lookup returns the entry for exactly this host and port. The user name can be "". A nil
// Netrc is empty.
func (n *Netrc) Lookup(host svchost.Hostname) (user string, password Password, ok bool) {
	if n == nil || n.lookup == nil {
		return "", Password{}, false
	}
	found, ok := n.lookup(host)
	return found.user, found.password, ok
}
