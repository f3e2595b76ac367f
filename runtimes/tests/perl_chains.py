# SPDX-License-Identifier: Apache-2.0
"""The parts of Perl programs whose chains of calls are known: each way to call the next function."""

# What caller() calls (eval), without a text, is a block within its function.
HEAD = '''\
use strict;
use warnings;
no warnings "once";
use utf8;
use List::Util qw(first reduce);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
my $clock = CLOCK_MONOTONIC;
sub step { return $_[0] + 1 }
package Made {
  sub new {
    my ($class, $x) = @_;
    return bless { x => main::step($x) }, $class;
  }
  sub x { return $_[0]{x} }
}
sub frames {
  my (@found, @place);
  for (my $i = 0; my @c = caller $i; $i++) {
    next if $c[3] eq "(eval)" && !defined $c[6] && !$c[7];
    push @found, [$c[3], @place] if $i > 0;
    @place = @c[1, 2];
  }
  push @found, ["<main>", @place] unless $threads::threads && threads->tid;
  return @found;
}
sub record {
  my ($began, $ended, @frames) = @_;
  my @lines = map { ref $_->[2] ? "[$_->[2][0], $_->[2][1]]" : $_->[2] } @frames;
  my ($tid) = readlink("/proc/thread-self") =~ /([0-9]+)$/;
  my $list = join ", ", map { qq(["$frames[$_][0]", "$frames[$_][1]", $lines[$_]]) } 0 .. $#frames;
  open my $to, ">:utf8", $ARGV[1] or die;
  printf $to q([{"tid": %d, "began": %.0f, "end": %.0f, "frames": [%s]}]), $tid, $began * 1e9, $ended * 1e9, $list;
  close $to or die;
}
'''

LEAF = '''
sub leaf {
  my ($seconds) = @_;
  my @frames = frames();
  my $here = __LINE__;
  my ($began, $total) = (clock_gettime($clock), 0);
  my $ending = $began + $seconds;
  while (clock_gettime($clock) < $ending) {
    for my $i (1 .. 300) {
      my @sorted = sort { step($a) <=> step($b) } $i, 3, 1;
      my $f = sub { return step($_[0]) };
      $total += $i * $i % 7 + $sorted[0] + Made->new($i)->x + $f->($i) + first { step($_) > 3 } 1 .. 9;
      $total += eval { die [$i] } || $@->[0];
    }
  }
  my $ended = clock_gettime($clock);
  $frames[0][2] = [$here + 1, $here + 11];
  record($began, $ended, @frames);
  return $total;
}
'''

WAYS = {
    "function": '''
sub {n} {{
  my ($s) = @_;
  my $x = 1;
  return {next}($s);
}}
''',
    "spread": '''
sub {n} {{
  my ($s, @rest) = @_;
  return (
    1,
    {next}($s),
  );
}}
''',
    "recursion": '''
sub {n} {{
  my ($s, $left) = @_;
  $left //= 5;
  return {next}($s) if $left == 0;
  return {n}($s, $left - 1);
}}
''',
    "method": '''
package C_{n} {{
  sub new {{ return bless {{}}, shift }}
  sub run {{
    my ($self, $s) = @_;
    return main::{next}($s);
  }}
}}
sub {n} {{
  return C_{n}->new->run($_[0]);
}}
''',
    "closure": '''
sub {n} {{
  my ($s) = @_;
  my $f = sub {{
    return {next}($s);
  }};
  return $f->();
}}
''',
    "temporary": '''
sub {n} {{
  my ($s) = @_;
  my @x = (sub {{ {next}($s) }})->();
  return $x[0];
}}
''',
    "lexical": '''
sub {n} {{
  my sub inner_{n} {{
    return {next}($_[0]);
  }}
  return inner_{n}($_[0]);
}}
''',
    "assigned": '''
{{
  no strict "refs";
  *{{"d_{n}"}} = sub {{
    return {next}($_[0]);
  }};
}}
sub {n} {{
  return d_{n}($_[0]);
}}
''',
    "block sorts": '''
sub {n} {{
  my ($s) = @_;
  my $done;
  my @x = sort {{
    $done //= {next}($s);
    $a <=> $b
  }} 3, 1, 2;
  return $done;
}}
''',
    "sub sorts": '''
our ($s_{n}, $done_{n});
sub by_{n} {{
  $done_{n} //= {next}($s_{n});
  return $a <=> $b;
}}
sub {n} {{
  ($s_{n}) = @_;
  my @x = sort by_{n} 3, 1, 2;
  return $done_{n};
}}
''',
    "sub with arguments sorts": '''
our ($s_{n}, $done_{n});
sub by_{n} ($$) {{
  my ($x, $y) = @_;
  $done_{n} //= {next}($s_{n});
  return $x <=> $y;
}}
sub {n} {{
  ($s_{n}) = @_;
  my @x = sort by_{n} 3, 1, 2;
  return $done_{n};
}}
''',
    "map": '''
sub {n} {{
  my ($x) = map {{ {next}($_) }} @_;
  return $x;
}}
''',
    "first": '''
sub {n} {{
  my ($s) = @_;
  return first {{
    {next}($s);
  }} 1, 2;
}}
''',
    "reduce": '''
sub {n} {{
  my ($s) = @_;
  return reduce {{ {next}($s) }} 1, 2;
}}
''',
    "handler": '''
sub {n} {{
  my ($s) = @_;
  eval {{
    die "x";
  }};
  return {next}($s) if $@;
}}
''',
    "die handler": '''
sub {n} {{
  my ($s) = @_;
  my $done;
  local $SIG{{__DIE__}} = sub {{
    $done //= {next}($s);
  }};
  eval {{
    die "x";
  }};
  return $done;
}}
''',
    "tried": '''
sub {n} {{
  my ($s) = @_;
  return eval {{
    1;
    {next}($s);
  }};
}}
''',
    "evaluated": '''
sub {n} {{
  my ($s) = @_;
  return eval '
    1;
    {next}($s);
  ';
}}
''',
    "required": '''
our $r_{n};
sub {n} {{
  ($r_{n}) = @_;
  my $path = "$ARGV[1].{n}.pl";
  open my $to, ">", $path or die;
  print $to "\n{next}(\$main::r_{n});\n";
  close $to or die;
  return require $path;
}}
''',
    "autoload": '''
package A_{n} {{
  our $AUTOLOAD;
  sub AUTOLOAD {{
    my ($self, $s) = @_;
    return if $AUTOLOAD =~ /DESTROY/;
    return main::{next}($s);
  }}
}}
sub {n} {{
  my $x = bless [], "A_{n}";
  return $x->anything($_[0]);
}}
''',
    "goto": '''
sub g_{n} {{
  my ($s) = @_;
  return {next}($s);
}}
sub {n} {{
  goto &g_{n};
}}
''',
    "tied": '''
package T_{n} {{
  sub TIESCALAR {{
    my ($class, $s) = @_;
    return bless [$s], $class;
  }}
  sub FETCH {{
    my ($self) = @_;
    return main::{next}($self->[0]);
  }}
}}
sub {n} {{
  tie my $t, "T_{n}", $_[0];
  my $x = $t;
  return $x;
}}
''',
    "overloaded": '''
package O_{n} {{
  use overload "+" => sub {{
    my ($self) = @_;
    return main::{next}($self->[0]);
  }};
}}
sub {n} {{
  my $o = bless [$_[0]], "O_{n}";
  return $o + 1;
}}
''',
    "destroyed": '''
package D_{n} {{
  sub DESTROY {{
    my ($self) = @_;
    main::{next}($self->[0]);
  }}
}}
sub {n} {{
  my ($s) = @_;
  my $d = bless [$s], "D_{n}";
  undef $d;
  return 1;
}}
''',
    "signal": '''
sub {n} {{
  my ($s) = @_;
  my $done;
  # One for each function: a signal is blocked while it is handled.
  my $signal = "NUM" . (35 + ("{n}" =~ /([0-9]+)/ ? $1 : 20) % 28);
  local $SIG{{$signal}} = sub {{
    $done //= {next}($s);
  }};
  kill $signal => $$;
  1 until $done;
  return $done;
}}
''',
    "local": '''
sub {n} {{
  local $_ = $_[0];
  for my $x (1, 2) {{
    while (1) {{
      return {next}($_);
    }}
  }}
}}
''',
    "matched": '''
sub {n} {{
  my ($s) = @_;
  my $done;
  "x" =~ m"x(?{{ $done //= {next}($s) }})";
  return $done;
}}
''',
    "ünïcode": '''
sub ü_{n} {{
  my ($s) = @_;
  return {next}($s);
}}
sub ā_{n} {{
  return ü_{n}(@_);
}}
sub {n} {{
  return ā_{n}(@_);
}}
''',
}

MAIN = '''
start($ARGV[0]);
'''

# In another thread than the first, to which signals go.
IN_THREAD = '''
use threads;
threads->create(\\&start, $ARGV[0])->join;
'''
IN_THREADS = {name: way for name, way in WAYS.items() if name != "signal"}
