package auth

import (
	"github.com/tofureg/tofureg/disco/svchost"
)

// A Netrc holds users and passwords of web servers, as curl, git and other
// programs read them from a file named .netrc (_netrc on Windows) in the home
// directory:
//
//	machine modules.example.com login alice password "two words"
//	machine modules.example.com:8443
//	    login alice
//	    password secret  # a comment
//
// It is no [Source], because what it holds are no API tokens, and nothing in
// this module reads a netrc file unless it is told to. The CLI sends these
// passwords when it fetches the archive of a module, and for this alone a Netrc
// is meant: [Netrc.Lookup] fits the field ModuleCredentials of regclient.Client.
// Whoever else sends one holds to the same rules: only to the host and port that
// was looked up, also after a redirect; only over https; and not with a URL that
// carries a signature or another password in its query or user information,
// which servers refuse and which needs none.
//
// The zero Netrc is empty. A Netrc never changes, so it is safe for concurrent
// use, and no verb of package fmt shows what is in it.
//
// # Format
//
// Words are separated by white space, line breaks included. The words machine
// NAME begin an entry; login NAME, password SECRET (or passwd), account NAME,
// port NUMBER and protocol NAME belong to it, and macdef NAME with all lines
// up to an empty one is passed over. Keywords may be in upper case. A value in
// double quotes may contain spaces and, after a backslash, \", \\, \n, \r and
// \t. Where a keyword is due, # begins a comment that ends with the line.
// Anything else is a [*SyntaxError]; most often it is a password with a space
// in it but without quotes.
//
// NAME is read by [svchost.FromWire] and must be exactly the host, with the port
// unless that is 443; port NUMBER says the same as NAME:NUMBER. Of several
// entries for one host the first counts. Not counted are entries without a
// password, for a protocol other than https, and for a NAME that is no host. The
// entry named default is for every host there is, and so it is ignored.
type Netrc struct {
	// A function, so that nothing prints the users.
	lookup func(svchost.Hostname) (login, bool)
}

// login is what a Netrc holds for a host.
type login struct {
	user     string
	password Password
}

// maxNetrc bounds the file, in bytes.
const maxNetrc = 1 << 20

// LoadNetrc reads the netrc file at path. One that is not there is empty. The
// error is a [*SyntaxError], wraps [ErrTooLarge] if the file has more than
// 1 MiB, or is that of reading the file.
func LoadNetrc(path string) (*Netrc, error) {
	text, err := readFile(path, maxNetrc)
	if err != nil {
		return nil, err
	}
	n, err := ParseNetrc(text)
	return n, in(path, err)
}

// ParseNetrc reads the text of a netrc file. The error is a [*SyntaxError]. The
// text may be of any size.
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

// Lookup returns the user, which may be "", and the password for host, and
// whether there is an entry for exactly this host and port.
func (n *Netrc) Lookup(host svchost.Hostname) (user string, password Password, ok bool) {
	if n == nil || n.lookup == nil {
		return "", Password{}, false
	}
	found, ok := n.lookup(host)
	return found.user, found.password, ok
}
