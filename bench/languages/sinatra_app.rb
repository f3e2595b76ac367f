# SPDX-License-Identifier: Apache-2.0
# A site as Sinatra's users write them: templates, JSON, filters, helpers, errors.
require 'json'
require 'set'
require 'sinatra'

set :environment, :production
set :logging, false
set :server, 'puma'
set :port, ARGV.fetch(0).to_i
set :bind, '127.0.0.1'

Article = Struct.new(:key, :title, :body) do
  def words
    body.scan(/\w+/).to_set.sort_by { |word| [word.size, word] }
  end
end

ARTICLES = (0...60).map { |i| Article.new(i, "article number #{i}", "words of #{i} " * 20) }

helpers do
  def each_third
    ARTICLES.each_with_index { |article, i| yield article if (i % 3).positive? }
  end

  def nested(depth)
    depth.zero? ? JSON.parse('[1, 2, 3]') : { depth: depth, inner: nested(depth - 1) }
  end
end

before { @began = Process.clock_gettime(Process::CLOCK_MONOTONIC) }

get('/') { erb :index }

get '/article/:key' do |key|
  found = ARTICLES.find { |article| article.key == Integer(key) } || halt(404)
  content_type :json
  JSON.generate(title: found.title, words: found.words, nested: nested(12))
end

not_found { 'There is none.' }

__END__

@@ index
<!doctype html>
<title>All</title>
<ul>
<% each_third do |article| %>
  <li><a href="<%= url("/article/#{article.key}") %>"><%= Rack::Utils.escape_html(article.title.capitalize) %></a>
    <%= article.words.join(', ')[0, 60] %></li>
<% end %>
</ul>
