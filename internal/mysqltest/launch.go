package mysqltest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith/internal/child"
)

// Spec is a server to be launched.
type Spec struct {
	Flavour Flavour
	// Dir is the server's private folder: data, log and, where the path is short enough, the socket. It is made
	// when missing, and a server launched again with the same Dir goes on with its data.
	Dir string
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
	// ServerID is the server_id; 0 leaves it at the server's default.
	ServerID int
	// Options are further lines of a [mysqld] section: "log_bin=binlog", "skip_name_resolve". A later one wins
	// over an earlier one and over the defaults, which are those of a small server that starts fast.
	Options []string

	galera *member // nil: no node of a cluster
}

// Process is a running server. Its fields never change; its methods may be called from any goroutine.
type Process struct {
	Flavour Flavour
	Host    string // 127.0.0.1
	Port    int
	Socket  string
	Dir     string
	PID     int

	child *child.Process
}

// maxSocketPath is what fits into sockaddr_un on every system, with the end mark.
const maxSocketPath = 103

// Launch makes the data folder if there is none, starts the server and waits until it answers or ctx ends. The
// server outlives ctx; it ends with [Process.Stop] or [Process.Kill], or with this program, however that ends.
// The error is a *[MissingError] when the server program is not installed, an [ErrRoot] when somebody gave root a
// password, and carries the end of the log.
func Launch(ctx context.Context, spec Spec) (*Process, error) {
	// Between finding a port free and binding it, another program may take it.
	const tries = 3
	for try := 1; ; try++ {
		p, err := launchOnce(ctx, spec)
		if err == nil || try == tries || spec.Port != 0 || !strings.Contains(err.Error(), "ddress already in use") {
			return p, err
		}
	}
}

func launchOnce(ctx context.Context, spec Spec) (*Process, error) {
	dir, err := filepath.Abs(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("mysqltest: launch %s: %w", spec.Flavour, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return nil, fmt.Errorf("mysqltest: launch %s: %w", spec.Flavour, err)
	}
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		if err := install(ctx, spec, data); err != nil {
			return nil, err
		}
	}
	port := spec.Port
	if port == 0 {
		if port, err = FreePort(); err != nil {
			return nil, err
		}
	}
	p := &Process{
		Flavour: spec.Flavour, Host: "127.0.0.1", Port: port, Dir: dir,
		Socket: filepath.Join(dir, "mysqld.sock"),
	}
	if len(p.Socket) > maxSocketPath {
		p.Socket = filepath.Join(os.TempDir(), "monolith-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(port)+".sock")
	}
	if spec.galera != nil {
		option, err := spec.galera.recover(ctx, spec, p, data)
		if err != nil {
			return nil, err
		}
		if option != "" {
			spec.Options = append(slices.Clip(spec.Options), option)
		}
	}
	cmd, err := command(spec, p, data)
	if err != nil {
		return nil, err
	}
	if err := p.start(cmd); err != nil {
		return nil, fmt.Errorf("mysqltest: launch %s: %w", spec.Flavour, err)
	}
	if err := p.ready(ctx); err != nil {
		p.Kill()
		return nil, fmt.Errorf("mysqltest: launch %s: %w; its log ends:\n%s", spec.Flavour, err, p.LogTail(20))
	}
	return p, nil
}

// command is the server's command line: defaults first, so that the spec's options win.
func command(spec Spec, p *Process, data string) (*exec.Cmd, error) {
	args := []string{
		"--no-defaults", // first, as the server wants it
		"--datadir=" + data,
		"--socket=" + p.Socket,
		"--tmpdir=" + filepath.Join(p.Dir, "tmp"), // a server that starts removes the temporary tables of all that share one
		"--pid-file=" + filepath.Join(p.Dir, "mysqld.pid"),
		"--bind-address=" + p.Host,
		"--port=" + strconv.Itoa(p.Port),
		"--innodb-buffer-pool-size=16M",
		"--innodb-flush-log-at-trx-commit=0",
		"--performance-schema=OFF",
		"--character-set-server=utf8mb4",
	}
	var path, lib string
	switch spec.Flavour {
	case FlavourMySQL56:
		dir, err := findMySQL56()
		if err != nil {
			return nil, err
		}
		path, lib = filepath.Join(dir, "mysqld"), dir
		args = append(args, "--basedir="+dir, "--lc-messages-dir="+filepath.Join(dir, "share"),
			"--innodb-log-file-size=4M", "--explicit-defaults-for-timestamp", "--secure-auth=ON")
	default:
		server, _, err := findMariaDB()
		if err != nil {
			return nil, err
		}
		path = server
		args = append(args, "--innodb-log-file-size="+logFileSize)
	}
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	if spec.ServerID != 0 {
		args = append(args, "--server-id="+strconv.Itoa(spec.ServerID))
	}
	env := append(os.Environ(), "TZ=UTC")
	if spec.galera != nil {
		more, programs, err := spec.galera.prepare(p)
		if err != nil {
			return nil, err
		}
		args, env = append(args, more...), append(env, "PATH="+programs)
	}
	for _, option := range spec.Options {
		args = append(args, "--"+option)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = p.Dir, env
	if lib != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+lib)
	}
	return cmd, nil
}

func (p *Process) start(cmd *exec.Cmd) error {
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own
	cmd.Stdout, cmd.Stderr = log, log
	if p.child, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	p.PID = p.child.PID
	return nil
}

// ErrRoot says that a server runs and turns root away, whom this package knows without a password.
var ErrRoot = errors.New("root can't log in without a password")

// ready waits until root can log in.
func (p *Process) ready(ctx context.Context) error {
	db, err := p.open()
	if err != nil {
		return err
	}
	defer db.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		if refused := new(mysql.MySQLError); errors.As(err, &refused) && (refused.Number == 1045 || refused.Number == 1698) {
			return fmt.Errorf("%w: %w", ErrRoot, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-p.Exited():
			return fmt.Errorf("it ended: %v", p.child.Err())
		case <-tick.C:
		}
	}
}

// RootDSN is root's, through the socket, without a schema.
func (p *Process) RootDSN() string { return p.rootConfig().FormatDSN() }

func (p *Process) rootConfig() *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr = "root", "unix", p.Socket
	return c
}

// open gives root's pool. It says nothing on standard error about connections that a stop or a start breaks.
func (p *Process) open() (*sql.DB, error) {
	c := p.rootConfig()
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("mysqltest: open: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// DSN is an account's, over TCP, without a schema.
func (p *Process) DSN(user, password string) string {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = user, password, "tcp", net.JoinHostPort(p.Host, strconv.Itoa(p.Port))
	return c.FormatDSN()
}

// Exited is closed when the server is gone, however it ended.
func (p *Process) Exited() <-chan struct{} { return p.child.Exited() }

// Signal sends the server a signal; a server that is gone gives os.ErrProcessDone.
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.child.Signal(sig); err != nil {
		return fmt.Errorf("mysqltest: signal %s: %w", p.Flavour, err)
	}
	return nil
}

// Stop ends the server as an operator would and waits for it; when ctx ends first, it is killed and the error
// says so. Stopping a server that is gone is no error.
func (p *Process) Stop(ctx context.Context) error {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} { // a stopped process takes no SIGTERM
		if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	select {
	case <-p.Exited():
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("mysqltest: stop %s: it had to be killed: %w", p.Flavour, context.Cause(ctx))
	}
}

// Kill ends the server as a crash would and waits until it is gone.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL) // gone already is as good
	<-p.Exited()
}

func (p *Process) logPath() string { return filepath.Join(p.Dir, "mysqld.log") }

// LogTail gives the last n lines of the server's error log, or why they can't be read.
func (p *Process) LogTail(n int) string {
	text, err := os.ReadFile(p.logPath())
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

// FreePort gives a TCP port on 127.0.0.1 that nobody listened on a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("mysqltest: find free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
